package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/firstgood/firstgood/criteria"
)

// source is a schema with all that it refers to, by address. After the first compilation it does not change.
type source struct {
	address string // of the schema
	docs    map[string]any

	// Of a schema in a file.
	name string // as the caller wrote it; "" for a schema that is in none
	dir  string // absolute
}

// The addresses of what is in no file. They are never loaded.
const (
	inlineAddress = "inline:///schema"
	unfitAddress  = "inline:///unfit"
)

func inline(value any) (*source, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("schema: it has no JSON form: %w", err)
	}
	doc, err := criteria.ParseJSON(data)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s := &source{address: inlineAddress, docs: map[string]any{inlineAddress: doc}}
	return s, s.shape(doc)
}

func load(name string) (*source, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	s := &source{name: name, dir: filepath.Dir(path), address: addressOf(path)}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	defer file.Close()
	doc, err := read(file, name)
	if err != nil {
		return nil, fmt.Errorf("schema %w", err)
	}
	s.docs = map[string]any{s.address: doc}
	return s, s.shape(doc)
}

// shape refuses what cannot be a schema.
func (s *source) shape(doc any) error {
	switch doc.(type) {
	case map[string]any, bool:
		return nil
	}
	return s.fault(s.address, "got %s, want an object, or true or false", kindOf(doc))
}

func kindOf(doc any) string {
	switch doc.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case []any:
		return "a list"
	}
	return "a number"
}

// read returns the document in a file.
func read(file *os.File, name string) (any, error) {
	data, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s: the file has more than %d bytes", name, MaxFile)
	}
	doc, err := criteria.ParseJSON(bytes.TrimPrefix(data, []byte("\ufeff")))
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, fmt.Errorf("%s:%w", name, err) // it begins with line and column
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return doc, nil
}

// addressOf returns the URL of an absolute path.
func addressOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/…
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// pathOf returns the path that a URL of a file means.
func pathOf(u *url.URL) string {
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.FromSlash(path)
}

// compile compiles a copy. The first time it reads what the schema refers to.
func (s *source) compile() (*checker, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	g := &guard{}
	c.RegisterVocabulary(g.vocabulary())
	c.AssertVocabs()
	c.UseLoader(s)
	if err := c.AddResource(unfitAddress, map[string]any{"not": map[string]any{"$ref": s.address}}); err != nil {
		return nil, err
	}
	schema, err := c.Compile(s.address)
	if err != nil {
		return nil, s.explain(err)
	}
	if at := g.endless(); at != nil {
		return nil, s.fault(at.Location, "the schema leads back to itself without end; have it refer to itself from inside, as in properties or items")
	}
	unfit, err := c.Compile(unfitAddress)
	if err != nil {
		return nil, s.explain(err)
	}
	return &checker{schema, unfit, g, MaxSteps}, nil
}

// Load implements [jsonschema.URLLoader]: it returns the document at an address.
func (s *source) Load(address string) (any, error) {
	if doc, ok := s.docs[address]; ok {
		return doc, nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme == "http" || u.Scheme == "https":
		return nil, errors.New("nothing is loaded from the network; put it in a file beside the schema and refer to that by its path")
	case s.name == "":
		return nil, errors.New("a schema that is in no file of its own can only refer into itself; put it in a file, or what it needs into its $defs")
	case u.Scheme != "file" || u.Host != "":
		return nil, errors.New("only files beside the schema can be referred to, by their relative path")
	}
	inner, err := filepath.Rel(s.dir, pathOf(u))
	if err != nil || !filepath.IsLocal(inner) {
		return nil, errors.New("only files in the schema's folder or below it can be referred to")
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.Open(inner)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	doc, err := read(file, filepath.Join(filepath.Dir(s.name), inner))
	if err == nil {
		s.docs[address] = doc
	}
	return doc, err
}
