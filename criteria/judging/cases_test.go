package judging

import (
	"bytes"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadCases(t *testing.T) {
	in := `{"brief": "2+2?", "reply": "4", "good": true}` + "\r\n" +
		"  \n" +
		`{"good":false,"reply":"","brief":"a\nb é \u00e9"}`
	got, err := ReadCases("c", strings.NewReader(in))
	want := []Case{{1, "2+2?", "4", true}, {3, "a\nb é é", "", false}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

var faulty = []struct{ name, in, want string }{
	{"empty", "", `c:1: there are no cases in the file; a case is {"brief": "…", "reply": "…", "good": true}, one a line`},
	{"white", "\n \n", `c:1: there are no cases in the file; `},
	{"bom", "\uFEFF{}", "c:1: the file begins with a byte order mark; save it as UTF-8 without one"},
	{"utf-16", "\xff\xfe{\x00", "c:1: the file is in UTF-16; save it as UTF-8"},
	{"not utf-8", "\n{\"brief\":\"\xff\"}", "c:2: the line is not UTF-8; save the file as UTF-8 text"},
	{"not json", `{"brief": "a", }`, `c:1: the line is not JSON: invalid character '}' looking for beginning of object key string; a case is {`},
	{"cut", `{"brief": "a"`, `c:1: the line is not JSON: unexpected end of JSON input; `},
	{"two on a line", `{"brief":"","reply":"","good":true} {}`, `c:1: the line is not JSON: invalid character '{' after top-level value; `},
	{"list", `[1]`, `c:1: the line is not an object; `},
	{"null", `null`, `c:1: the line is not an object; `},
	{"unknown", `{"brief":"","reply":"","good":true,"Reply":""}`, `c:1: there is no key "Reply" in a case; a case is {`},
	{"twice", `{"brief":"","brief":"","reply":"","good":true}`, `c:1: brief is given twice; keep one`},
	{"missing", `{"brief":""}`, `c:1: reply and good missing; a case is {`},
	{"number", `{"brief":"","reply":4,"good":true}`, `c:1: reply is a number, want a string`},
	{"null reply", `{"brief":"","reply":null,"good":true}`, `c:1: reply is null, want a string`},
	{"object", `{"brief":{},"reply":"","good":true}`, `c:1: brief is an object, want a string`},
	{"word", `{"brief":"","reply":"","good":"true"}`, `c:1: good is a string, want true or false`},
	{"1", `{"brief":"","reply":"","good":1}`, `c:1: good is a number, want true or false`},
	{"null good", `{"brief":"","reply":"","good":null}`, `c:1: good is null, want true or false`},
	{"several", "{}\n{\"brief\":\"\",\"reply\":\"\",\"good\":true}\n[]", "c:1: brief and reply and good missing; "},
}

func TestReadCases_Faults(t *testing.T) {
	for _, tt := range faulty {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadCases("c", strings.NewReader(tt.in))
			if got != nil || err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want %s", got, err, tt.want)
			}
		})
	}
}

func TestReadCases_NamesTheFirstTwenty(t *testing.T) {
	_, err := ReadCases("c", strings.NewReader(strings.Repeat("[]\n", 23)))
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 21 || !strings.HasPrefix(lines[19], "c:20: ") || lines[20] != "and 3 more" {
		t.Errorf("got %d lines: %v", len(lines), err)
	}
}

func TestReadCases_TooLarge(t *testing.T) {
	const most = 1 << 20
	page := bytes.Repeat([]byte("x"), most)
	page[10], page[20] = '\n', '\n'
	if _, err := readCases("c", bytes.NewReader(page), most); err == nil || !strings.HasPrefix(err.Error(), "c:1: the line is not JSON") {
		t.Errorf("1 MiB: got %v", err)
	}
	_, err := readCases("c", io.MultiReader(bytes.NewReader(page), strings.NewReader("x"), iotest.ErrReader(errors.New("it read on"))), most)
	if err == nil || err.Error() != "c:3: the file goes beyond 1 MiB here; make several files of it" {
		t.Errorf("more: got %v", err)
	}
}

func TestReadCases_ReaderFails(t *testing.T) {
	broken := errors.New("broken")
	if _, err := ReadCases("c", iotest.ErrReader(broken)); !errors.Is(err, broken) || err.Error() != "cannot read c: broken" {
		t.Errorf("got %v", err)
	}
}

// theCases are the 60 of testdata: the odd lines are good, the even ones bad.
func theCases(t testing.TB) []Case {
	t.Helper()
	file, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cases, err := ReadCases(file.Name(), file)
	if err != nil || len(cases) != 60 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for i, k := range cases {
		if k.Line != i+1 || k.Good != (k.Line%2 == 1) {
			t.Fatalf("case %d: line %d, good %v", i, k.Line, k.Good)
		}
	}
	return cases
}

func FuzzReadCases(f *testing.F) {
	for _, tt := range faulty {
		f.Add([]byte(tt.in))
	}
	f.Add([]byte(`{"brief":"a","reply":"b","good":true}` + "\n" + `{"good":false,"reply":"b","brief":"a"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		cases, err := ReadCases("c", bytes.NewReader(data))
		if (len(cases) == 0) != (err != nil) {
			t.Fatalf("%d cases and %v", len(cases), err)
		}
		last := 0
		for _, k := range cases {
			if k.Line <= last {
				t.Fatalf("line %d after %d", k.Line, last)
			}
			last = k.Line
		}
	})
}
