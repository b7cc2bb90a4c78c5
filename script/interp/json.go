package interp

import (
	"encoding/json"
	"strings"
)

// jsonOf is the JSON in a text: the whole of it, else what stands in a fence, else what is in the outermost braces. The
// last answer is kept, since scripts ask for several keys of one reply.
func (t *thread) jsonOf(s string) (Value, bool) {
	if t.viewed != s || s == "" {
		t.view, t.isView = findJSON(s)
		t.viewed = s
	}
	return t.view, t.isView
}

func findJSON(s string) (Value, bool) {
	s = strings.TrimSpace(strings.TrimPrefix(s, "\ufeff"))
	if v, ok := parseJSON(s); ok {
		return v, true
	}
	if v, ok := fenced(s); ok {
		return v, true
	}
	first, last := strings.IndexByte(s, '{'), strings.LastIndexByte(s, '}')
	if first < 0 || last < first {
		return Value{}, false
	}
	return parseJSON(s[first : last+1])
}

func parseJSON(s string) (Value, bool) {
	if s == "" || !json.Valid([]byte(s)) {
		return Value{}, false
	}
	v, err := FromJSON([]byte(s))
	return v, err == nil
}

// fenced is the first JSON in a fence of three ` or ~ or more; one that is marked as json comes before the others.
func fenced(s string) (found Value, ok bool) {
	open, marked, start := "", false, 0
	for at := 0; at < len(s); {
		end := len(s)
		if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := strings.TrimSpace(s[at:end])
		switch fence, info := fenceOf(line); {
		case fence == "":
		case open == "":
			open, start = fence, end
			marked = strings.HasPrefix(strings.ToLower(info), "json")
		case info == "" && fence[0] == open[0] && len(fence) >= len(open):
			if v, isJSON := parseJSON(strings.TrimSpace(s[start:at])); isJSON {
				if marked {
					return v, true
				}
				if !ok {
					found, ok = v, true
				}
			}
			open = ""
		}
		at = end
	}
	return found, ok
}

func fenceOf(line string) (fence, info string) {
	if line == "" || line[0] != '`' && line[0] != '~' {
		return "", ""
	}
	info = strings.TrimLeft(line, line[:1])
	if fence = line[:len(line)-len(info)]; len(fence) < 3 {
		return "", ""
	}
	return fence, strings.TrimSpace(info)
}
