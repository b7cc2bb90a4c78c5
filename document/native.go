package document

// revisions are the bodies that a native pattern does the same as, by their hash.
var revisions = map[string]struct {
	pattern string
	kind    Kind
}{
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
