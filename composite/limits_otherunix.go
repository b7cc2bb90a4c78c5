//go:build unix && !linux

package composite

// limitAddressSpace does nothing where the system does not hold such a limit, or has none.
func limitAddressSpace(int64) {}
