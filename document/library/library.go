// Package library holds the standard documents: patterns that every copy of firstgood knows without a file on the disk.
package library

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.prose.md
var files embed.FS

const extension = ".prose.md"

// FS holds the documents, each as NAME.prose.md.
func FS() fs.FS { return files }

// Names returns the names of the documents, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // an embedded folder can always be read
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(entry.Name(), extension)
	}
	return names
}

// Read returns the document of that name, and false where there is none.
func Read(name string) ([]byte, bool) {
	if strings.ContainsRune(name, '/') {
		return nil, false
	}
	data, err := files.ReadFile(name + extension)
	return data, err == nil
}
