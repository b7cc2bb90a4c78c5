package lab

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
)

// Edit returns a model for coding agents: asked for the first time with tools that can write a file, it calls one to write
// content to a file, whose path is relative to where the agent works; asked again with the result, or without such a tool, it
// answers with text.
//
// Where the request names the directory in the words of Qwen Code and Gemini CLI, the path is made absolute, since the tools
// of some want that. It takes the first of the tools that looks as if it wrote files, by its name and what it gets, and otherwise one that runs
// shell commands. That is known to do for Claude Code, Codex, Gemini CLI, OpenCode and Qwen Code.
func Edit(path, content, text string) Model {
	return func(_ context.Context, req Request) Reply {
		path := path
		for _, m := range req.Messages {
			if found := workplace.FindStringSubmatch(m.Text); found != nil {
				path = strings.TrimSuffix(found[1], "/") + "/" + path
				break
			}
		}
		if req.Results == 0 {
			for _, use := range []func(Tool, string, string) (any, bool){writes, runs} {
				for _, tool := range req.Tools {
					if input, ok := use(tool, path, content); ok {
						return Reply{ToolCall: tool.Name, ToolInput: input}
					}
				}
			}
		}
		return Reply{Text: text}
	}
}

var workplace = regexp.MustCompile(`working in the directory: (/[^\r\n]+)`)

// schema is what is looked at of what a tool gets.
type schema struct {
	Properties map[string]struct {
		Type any `json:"type"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// writes returns what makes a tool write a file, if it is one that does.
func writes(tool Tool, path, content string) (any, bool) {
	s, ok := schemaOf(tool)
	if !ok || !strings.Contains(strings.ToLower(tool.Name), "write") {
		return nil, false
	}
	where := s.first("file_path", "filePath", "absolute_path", "path")
	what := s.first("content", "contents", "text")
	if where == "" || what == "" {
		return nil, false
	}
	return s.fill(object{where: path, what: content}), true
}

// runs returns what makes a tool write a file by a shell command, if it runs some.
func runs(tool Tool, path, content string) (any, bool) {
	s, ok := schemaOf(tool)
	if !ok {
		return nil, false
	}
	key := s.first("cmd", "command")
	if key == "" {
		return nil, false
	}
	script := "printf %s " + quote(content) + " > " + quote(path)
	if s.Properties[key].Type == "array" {
		return s.fill(object{key: []string{"sh", "-c", script}}), true
	}
	return s.fill(object{key: script}), true
}

func schemaOf(tool Tool) (schema, bool) {
	var s schema
	return s, json.Unmarshal(tool.Schema, &s) == nil
}

// first returns the first of the names that the schema has, "" for none.
func (s schema) first(names ...string) string {
	for _, name := range names {
		if _, ok := s.Properties[name]; ok {
			return name
		}
	}
	return ""
}

// fill gives a text to what else is required.
func (s schema) fill(input object) object {
	for _, name := range s.Required {
		if _, given := input[name]; !given && s.Properties[name].Type == "string" {
			input[name] = "lab"
		}
	}
	return input
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
