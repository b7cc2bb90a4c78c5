package firstgood

// Change is what an attempt did to files in a place of its own. It does not alter once the attempt's reply was weighed, and
// is safe for concurrent use.
type Change interface {
	// Diff is the change as a unified diff that git can apply, less what Restored names; nil for no change.
	Diff() []byte
	// Restored are the protected paths that the attempt had changed, sorted. They are not in Diff.
	Restored() []string
}

// Changed is implemented by a reply, and by an error, that brings a change. Nil means none.
type Changed interface{ Changed() Change }
