package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/document"
	"github.com/firstgood/firstgood/engine"
)

// isDocument reports whether a name on the command line is that of a document.
func isDocument(name string) bool {
	return strings.ContainsRune(name, '/') || strings.HasSuffix(name, ".md")
}

// documents are the documents that a command reads, and the file of delegates beside them, which is empty where there is none.
type documents struct {
	*engine.World
	file *config.File
}

// documents reads the file, unless it is the one that nobody named and it is not there.
func (f *runFlags) documents(t terminal) (*documents, error) {
	world, err := f.world()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(f.file); errors.Is(err, fs.ErrNotExist) && !f.given("file") {
		file, problems := config.Parse(f.file, []byte("{}\n"), config.Kinds(), world.Extras()...)
		return &documents{world, file}, problems.Err()
	}
	file, err := f.load(t, world)
	return &documents{world, file}, err
}

// world is where documents are looked for: beside the file.
func (f *runFlags) world() (*engine.World, error) {
	world, err := engine.NewWorld(engine.WorldConfig{Dir: filepath.Dir(f.file), Literal: f.literal, Strict: f.strict})
	if err != nil {
		return nil, usagef("%w", err)
	}
	return world, nil
}

// runDocument runs the document of that name.
func (f *runFlags) runDocument(ctx context.Context, t terminal, name string, args []string) error {
	docs, err := f.documents(t)
	if err != nil {
		return err
	}
	doc, problems := docs.Open(name)
	if problems.Failed() {
		return &exit{exitUsage, problems}
	}
	f.say(t, problems)
	with, err := f.bindings()
	if err != nil {
		return err
	}
	set, err := f.settings()
	if err != nil {
		return err
	}
	inputs, err := f.documentInputs(doc)
	if err != nil {
		return err
	}
	state, err := f.readState(doc)
	if err != nil {
		return err
	}
	state.given = maps.Clone(inputs)
	with = append(with, state.bindings(doc, with)...)
	if docs.Native(doc) != "" {
		set = append(set, criteriaOf(doc, inputs, state)...)
	}
	in, problems := docs.Instance(docs.file, doc, with, set)
	if problems.Failed() {
		return &exit{exitUsage, problems}
	}
	f.say(t, problems)
	brief, err := f.documentBrief(ctx, t, doc, inputs, state, args)
	if err != nil {
		return err
	}
	result, err := f.run(ctx, t, docs.file, config.Ref{Name: doc.Name, Instance: in}, brief, state.object)
	if result != nil && f.state != "" {
		err = errors.Join(err, state.save(f.state, doc, in, brief, result))
	}
	return err
}

// documentInputs are the --input flags as JSON: a text where the document says so or nothing.
func (f *runFlags) documentInputs(doc *document.Document) (map[string]json.RawMessage, error) {
	texts, err := f.inputTexts()
	if err != nil {
		return nil, err
	}
	inputs := map[string]json.RawMessage{}
	for name, text := range texts {
		kind, known := "", doc.Open
		if in := doc.Input(name); in != nil {
			kind, known = document.JSONType(in.Type), true
		} else if s := doc.Setting(name); s != nil {
			kind, known = document.JSONType(s.Type), true
		}
		if !known {
			names := inputNames(doc)
			if near := diagnostic.Nearest(name, names); near != "" {
				return nil, usagef("--input %s: %s has no such input; did you mean %s?", name, doc.Name, near)
			}
			if len(names) == 0 {
				return nil, usagef("--input %s: %s has no inputs", name, doc.Name)
			}
			return nil, usagef("--input %s: %s has no such input; it has %s", name, doc.Name, strings.Join(names, ", "))
		}
		if kind == "" || kind == "string" {
			inputs[name], _ = json.Marshal(text)
			continue
		}
		if !json.Valid([]byte(text)) {
			return nil, usagef("--input %s: %s says that this is of type %s, so write it as JSON; got %s", name, doc.Name, kind, firstWords(text))
		}
		inputs[name] = json.RawMessage(text)
	}
	return inputs, nil
}

func firstWords(text string) string {
	text, cut := firstgood.Excerpt(strings.Join(strings.Fields(text), " "), 40)
	if cut {
		text += "…"
	}
	return fmt.Sprintf("%q", text)
}

func inputNames(doc *document.Document) []string {
	var names []string
	for _, in := range doc.Inputs {
		names = append(names, in.Name)
	}
	for _, s := range doc.Config {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// criteriaOf are the inputs that a native pattern has as settings.
func criteriaOf(doc *document.Document, inputs map[string]json.RawMessage, state documentState) []config.Setting {
	var set []config.Setting
	for _, name := range []string{"failure_criteria", "acceptance_criteria"} {
		if doc.Input(name) == nil && doc.Setting(name) == nil {
			continue
		}
		origin, value := "--input "+name, inputs[name]
		if value == nil {
			origin, value = "--state "+name, state.fields[name]
		}
		var text string
		if json.Unmarshal(value, &text) != nil || strings.TrimSpace(text) == "" {
			continue // as in the documents, criteria that are null or empty are none
		}
		set = append(set, config.Setting{Origin: origin, Key: name, Value: strings.ReplaceAll(text, "${", "$${")})
		delete(inputs, name)
	}
	return set
}

// documentBrief is the brief of a run with its inputs. A document without an input that a brief could be takes none.
func (f *runFlags) documentBrief(ctx context.Context, t terminal, doc *document.Document, inputs map[string]json.RawMessage, state documentState, args []string) (firstgood.Brief, error) {
	target := engine.BriefInput(doc)
	asked := len(args) > 0 || f.given("brief") || f.given("brief-file")
	var brief firstgood.Brief
	var text string
	switch _, stated := state.fields[target]; {
	case asked && target == "" && len(inputNames(doc)) == 0:
		return brief, usagef("%s takes no brief, and has no inputs", doc.Name)
	case asked && target == "":
		return brief, usagef("%s takes no brief; give its inputs, with --input: %s", doc.Name, strings.Join(inputNames(doc), ", "))
	case asked && inputs[target] != nil:
		return brief, usagef("the brief is given twice, as one and by --input %s; keep one", target)
	case inputs[target] != nil:
		_ = json.Unmarshal(inputs[target], &text)
		if strings.TrimSpace(text) == "" {
			return brief, usagef("there is no brief: --input %s is empty", target)
		}
		brief = firstgood.Text(text)
	case !asked && (target == "" || stated):
		_ = json.Unmarshal(state.fields[target], &text)
		brief = firstgood.Text(text)
	default:
		var err error
		brief, err = f.read(ctx, t.in, args)
		if errors.Is(err, errNoBrief) && !asked && optional(doc, target) {
			err = nil
		}
		if errors.Is(err, errNoBrief) {
			err = usagef("%w, or by --input %s=…", err, target)
		}
		if err != nil {
			return brief, err
		}
	}
	for name, value := range inputs {
		var err error
		if brief, err = brief.With(name, value); err != nil {
			return brief, usagef("--input %s: %w", name, err)
		}
	}
	return brief, nil
}

// optional reports whether a document does without an input.
func optional(doc *document.Document, name string) bool {
	in := doc.Input(name)
	return in == nil || in.Optional || in.Implicit || doc.Default(name) != nil
}

// documentState is the object of --state.
type documentState struct {
	object json.RawMessage // nil without one
	fields map[string]json.RawMessage
	given  map[string]json.RawMessage // the inputs of the command line, which come first
}

func (f *runFlags) readState(doc *document.Document) (documentState, error) {
	var s documentState
	if f.state == "" {
		return s, nil
	}
	if doc.Kind != document.Composite {
		return s, usagef("--state is for documents of kind composite; %s is a %s", doc.Name, doc.Kind)
	}
	data, err := os.ReadFile(f.state)
	if errors.Is(err, fs.ErrNotExist) {
		data = []byte("{}")
		_, err = os.Stat(filepath.Dir(f.state)) // where it is to be written
	}
	if err != nil {
		return s, usagef("cannot read the state: %w", err)
	}
	if err := json.Unmarshal(data, &s.fields); err != nil || s.fields == nil {
		return s, usagef("%s: the state must be a JSON object", f.state)
	}
	s.object = bytes.TrimSpace(data)
	return s, nil
}

// bindings are the slots that a state names and the command line does not.
func (s documentState) bindings(doc *document.Document, with []config.Binding) []config.Binding {
	var more []config.Binding
	for _, slot := range doc.Slots {
		if slices.ContainsFunc(with, func(b config.Binding) bool { return b.Slot == slot.Name }) {
			continue
		}
		var names []string
		var name string
		switch {
		case json.Unmarshal(s.fields[slot.Name], &names) == nil && names != nil:
		case json.Unmarshal(s.fields[slot.Name], &name) == nil && name != "":
			names = []string{name}
		default:
			continue
		}
		more = append(more, config.Binding{Origin: "--state " + slot.Name, Slot: slot.Name, Names: names})
	}
	return more
}

// save writes the state back as the run left it, at once or not at all. Where no text has written it, it is what the text would
// have begun with, and what the outcome says replaces what an earlier one said.
func (s documentState) save(path string, doc *document.Document, in *config.Instance, brief firstgood.Brief, result *engine.Result) error {
	data := result.State
	if data == nil {
		if result.Outcome.Status != firstgood.StatusWon && result.Outcome.Status != firstgood.StatusExhausted {
			return nil // nothing was decided, so that nothing is written
		}
		fields := map[string]json.RawMessage{}
		maps.Copy(fields, s.fields)
		maps.Copy(fields, s.given)
		for _, slot := range in.Slots {
			names := []string{}
			for _, member := range slot.Members {
				names = append(names, member.Name)
			}
			fields[slot.Name], _ = json.Marshal(names) // what runs natively has lists alone
		}
		if target := engine.BriefInput(doc); target != "" {
			fields[target], _ = json.Marshal(brief.String())
		}
		outcome, err := result.MarshalJSON()
		if err != nil {
			return err
		}
		var said map[string]json.RawMessage
		if err := json.Unmarshal(outcome, &said); err != nil {
			return err
		}
		for _, name := range []string{"result", "winner", "attempts", "failure_history"} {
			if name != "failure_history" || doc.Name != "race" { // a race of composites never writes it
				fields[name] = said[name]
			}
		}
		if data, err = json.Marshal(fields); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return fmt.Errorf("the state: %w", err)
	}
	b.WriteByte('\n')
	if err := replace(path, b.Bytes()); err != nil {
		return &exit{exitProgram, fmt.Errorf("cannot write the state: %w", err)}
	}
	return nil
}

// replace writes a file at once or not at all.
func replace(path string, data []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}
