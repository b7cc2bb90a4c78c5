package lab

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var requests = map[string]struct {
	body  string
	brief string
	fails string // what the error says; "" for none
}{
	"text":                  {`{"model":"ok","messages":[{"role":"user","content":"Hello"}]}`, "Hello", ""},
	"parts":                 {`{"model":"ok","messages":[{"role":"user","content":[{"type":"text","text":"Hel"},{"type":"image_url"},{"type":"text","text":"lo"}]}]}`, "Hello", ""},
	"the last user's":       {`{"model":"ok","messages":[{"role":"user","content":"1"},{"role":"user","content":"2"},{"role":"assistant","content":null},{"role":"tool"}]}`, "2", ""},
	"no user":               {`{"model":"ok","messages":[{"role":"system","content":"Be brief."}]}`, "", ""},
	"nothing":               {``, "", "not a JSON request"},
	"no JSON":               {`{"model":`, "", "not a JSON request"},
	"two values":            {`{"model":"ok"} {}`, "", "not a JSON request"},
	"a list":                {`[]`, "", "not a JSON request"},
	"model of another type": {`{"model":7,"messages":[{"role":"user","content":"Hello"}]}`, "", "model"},
	"no model":              {`{"messages":[{"role":"user","content":"Hello"}]}`, "", "model is missing"},
	"no messages":           {`{"model":"ok","messages":[]}`, "", "messages is missing"},
	"a content of numbers":  {`{"model":"ok","messages":[{"role":"user","content":"a"},{"role":"user","content":7}]}`, "", "messages[1].content"},
	"stream of a string":    {`{"model":"ok","stream":"yes","messages":[{"role":"user","content":"a"}]}`, "", "stream"},
}

func TestParseRequest(t *testing.T) {
	for name, test := range requests {
		t.Run(name, func(t *testing.T) {
			req, err := parseRequest([]byte(test.body))
			switch {
			case test.fails == "" && err != nil:
				t.Fatal(err)
			case test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)):
				t.Fatalf("got error %v, want one about %s", err, test.fails)
			case err == nil && req.Brief() != test.brief:
				t.Errorf("got brief %q, want %q", req.Brief(), test.brief)
			}
		})
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, test := range requests {
		f.Add([]byte(test.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := parseRequest(body)
		if err == nil && (req.Model == "" || len(req.Messages) == 0) {
			t.Errorf("accepted a request without model or messages: %q", body)
		}
	})
}

func TestTokens(t *testing.T) {
	for text, want := range map[string][]string{
		"":                 nil,
		"one":              {"one"},
		"one two\n three ": {"one ", "two\n ", "three "},
		"  lead":           {"  ", "lead"},
		" ":                {" "},
		"größe über\tall":  {"größe ", "über\t", "all"},
	} {
		if got := tokens(text); !slices.Equal(got, want) {
			t.Errorf("tokens(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestSentence(t *testing.T) {
	for brief, quote := range map[string]string{
		"Name a\n colour.":           "“Name a colour.”",
		strings.Repeat("wörter", 20): "“" + strings.Repeat("wörter", 10) + "…”",
		"Why can't I log in?":        "your question", // quoted, it would be an apology to the lab's judge
		" \n":                        "your question",
	} {
		got := sentence(brief)
		if !strings.HasPrefix(got, "The lab's answer to "+quote+" is ") || declines(got) != "" {
			t.Errorf("sentence(%q) is %q, want %s in it", brief, got, quote)
		}
	}
}

// FuzzModelName makes sure that every model name gives a model, or an error that says what was wanted.
func FuzzModelName(f *testing.F) {
	for _, b := range Behaviours() {
		f.Add(b.Name)
		f.Add(b.Name + ":5")
		f.Add(b.Name + ":1ms:x")
	}
	f.Add("slow:-1s")
	f.Add("status:200")
	f.Add("gpt-5-mini")
	s, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, full string) {
		if n, _, _ := strings.Cut(full, ":"); n == "cut" || n == "stall" || n == "bad-json" || n == "error-frame" {
			t.Skip("their texts may be long")
		}
		req := Request{Model: full, Messages: []Message{{Role: "user", Text: full}}}
		reply := s.model(full)(t.Context(), req)
		if reply.Error != nil && reply.Error.Message == "" {
			t.Errorf("%q: an error without a message", full)
		}
		if reply.Delay < 0 || reply.Status != 0 && (reply.Status < 400 || reply.Status > 599) {
			t.Errorf("%q: %+v", full, reply)
		}
		if got := strings.Join(tokens(reply.Text), ""); got != reply.Text {
			t.Errorf("the tokens of %q join to %q", reply.Text, got)
		}
		if text := sentence(full); utf8.ValidString(full) && (!utf8.ValidString(text) || declines(text) != "") {
			t.Errorf("the lab's own answer %q is broken, or declines", text)
		}
	})
}

func FuzzWires(f *testing.F) {
	for _, test := range requests {
		f.Add("/v1/messages", []byte(test.body))
	}
	f.Add("/v1/responses", []byte(`{"model":"ok","input":[{"role":"user","content":"x"},{"type":"function_call_output"}],"tools":[{"name":"a"}]}`))
	f.Add("/v1beta/models/ok:streamGenerateContent", []byte(`{"contents":[{"parts":[{"text":"x"},{"functionResponse":{}}]}],"tools":[{"functionDeclarations":[{"name":"a"}]}]}`))
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		at := placeOf(path)
		if at.wire == nil {
			return
		}
		req, err := at.wire.request(path, body)
		if err == nil && (req.Model == "" || len(req.Messages) == 0 || req.Results > len(body)) {
			t.Errorf("%s: accepted %q as %+v", path, body, req)
		}
	})
}
