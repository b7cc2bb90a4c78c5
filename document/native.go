package document

// revisions are the bodies that a native pattern does the same as, by their hash.
var revisions = map[string]revision{
	// openprose/prose 63c8ce4b
	"34c28c0e81a7330797b149977d815f15e3abdf1fcb1cdb2fe5389c62d3516afa": {"fallback-chain", Composite},
	"518e32ffdd915a831534a472f91160966191b9066a822c207ae4a4c088390bca": {"race", Composite},
	// openprose/prose 624e75ad to aad1b43f
	"5a28236491a49b4fb7b00f9133198cb908bafa59676a1360a04f37ac14a90016": {"fallback-chain", Pattern},
	"a222a22732a67731c57ca20e7bb27ecf7f8119d111359cc9554f3117ee6b8978": {"race", Pattern},
	// the library
	"39bf14335903f2e0395466a78713dea4b427b9eb0d3bf0929261fbd03089721a": {"fallback-chain", Pattern},
	"28365937eb0450a56760bd0144cf5a8cc316221a8cab49564fa3ebe4358e4f03": {"race", Pattern},
}

type revision struct {
	pattern string
	kind    Kind
}

// Native returns the native pattern that does what the document's body says, and in which form the body says it. It returns
// false where the body is none that is known: an edited body is run as it is written. What the document says beside its body,
// such as defaults, is not compared and holds for the native pattern too.
func Native(d *Document) (pattern string, form Kind, ok bool) {
	if d == nil || d.Body == nil {
		return "", "", false
	}
	known, ok := revisions[d.Body.Hash]
	if !ok || known.kind != d.Kind {
		return "", "", false
	}
	return known.pattern, known.kind, true
}
