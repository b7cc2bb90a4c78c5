package live

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

var texts = []struct{ in, clean, ascii string }{
	{"", "", ""},
	{"fast", "fast", "fast"},
	{"  a \t b\r\n\nc \n", "a b c", "a b c"},
	{"a\u00a0b\u2028c\u2029d", "a b c d", "a b c d"},
	{"\x1b[1;31mred\x1b[m", "red", "red"},
	{"\x1b[?1049h\x1b[2J\x1b[10;20Hat", "at", "at"},
	{"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1bP1$r\x1b\\c", "abc", "abc"},
	{"\u009b31mred\u009d0;title\u009c.", "red.", "red."},
	{"\x1bcreset\x1b(Bcharset", "resetcharset", "resetcharset"},
	{"open \x1b[ and \x1b]0;title", "open nd 0;title", "open nd 0;title"},
	{"bell\a, null\x00, delete\x7f, back\bspace", "bell, null, delete, backspace", "bell, null, delete, backspace"},
	{"\u202eright\u202c to\u200b left\ufeff", "right to left", "right to left"},
	{"\xff\xfe", "\ufffd", "?"},
	{"\U000e0001\ue000\U0010ffff", "\ufffd\ufffd", "??"},
	{"e\u0301 \u0301x", "e\u0301 x", "e x"},
	{"z" + strings.Repeat("\u0336", 99), "z" + strings.Repeat("\u0336", 4), "z"},
	{"日本 ok", "日本 ok", "?? ok"},
}

func TestClean(t *testing.T) {
	for _, tt := range texts {
		if got := Clean(tt.in); got != tt.clean {
			t.Errorf("Clean(%q): got %q, want %q", tt.in, got, tt.clean)
		}
		if got := cleanASCII(tt.in); got != tt.ascii {
			t.Errorf("cleanASCII(%q): got %q, want %q", tt.in, got, tt.ascii)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, tt := range texts {
		f.Add(tt.in, 7)
	}
	f.Fuzz(func(t *testing.T, s string, room int) {
		text := Clean(s)
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("Clean(%q): got %q", s, text)
		}
		if again := Clean(text); again != text {
			t.Errorf("Clean(%q): got %q, and cleaned again %q", s, text, again)
		}
		if w := width(text); w*(1+maxMarks)+maxMarks < utf8.RuneCountInString(text) {
			t.Errorf("Clean(%q): got %q, more marks than characters can hold", s, text)
		}
		room = max(0, room)
		for _, ellipsis := range []string{"…", "..."} {
			if got := cut(text, room, ellipsis); width(got) > room {
				t.Errorf("cut(%q, %d): got %q, %d wide", text, room, got, width(got))
			}
		}
		if ascii := cleanASCII(s); strings.ContainsFunc(ascii, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("cleanASCII(%q): got %q", s, ascii)
		}
	})
}

func TestCells(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int
	}{
		{"", 0},
		{"abc", 3},
		{"é", 1},
		{"e\u0301", 1},
		{"日本語", 6},
		{"ｆｕｌｌ", 8},
		{"ﾊﾝｶｸ", 4},
		{"한국어", 6},
		{"\u1112\u1161\u11ab", 2}, // the same kind of syllable in parts
		{"👩", 2},
		{"✓✗⊘◦▸−", 6},
		{"…", 1},
		{"\u200b\u00ad", 0},
		{"नमस्ते", 4}, // virama and vowel sign stand on what is before them
		{"का", 2},     // a spacing vowel sign takes a column
		{"𠮷", 2},
	} {
		if got := width(tt.text); got != tt.want {
			t.Errorf("%q: got %d, want %d", tt.text, got, tt.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text     string
		room     int
		ellipsis string
		want     string
	}{
		{"the answer", 10, "…", "the answer"},
		{"the answer", 9, "…", "the answ…"},
		{"the answer", 5, "…", "the…"}, // no space before it
		{"a: b: c: d", 6, "…", "a: b…"},
		{"the answer", 9, "...", "the an..."},
		{"the answer", 8, "...", "the answ"}, // the ellipsis would take too much of it
		{"the answer", 0, "…", ""},
		{"日本語モデル", 12, "…", "日本語モデル"},
		{"日本語モデル", 11, "…", "日本語モデ…"},
		{"日本語モデル", 10, "…", "日本語モ…"},
		{"e\u0301e\u0301e\u0301e\u0301", 3, "…", "e\u0301e\u0301…"},
		{"e\u0301e\u0301e\u0301", 3, "…", "e\u0301e\u0301e\u0301"},
	} {
		if got := cut(tt.text, tt.room, tt.ellipsis); got != tt.want {
			t.Errorf("cut(%q, %d): got %q, want %q", tt.text, tt.room, got, tt.want)
		}
	}
}

func TestDurations(t *testing.T) {
	for _, tt := range []struct {
		d              time.Duration
		took, underway string
	}{
		{-time.Second, "0ms", "0.0s"},
		{0, "0ms", "0.0s"},
		{99*ms + 999*time.Microsecond, "99ms", "0.0s"},
		{100 * ms, "0.1s", "0.1s"},
		{812 * ms, "0.8s", "0.8s"},
		{9990 * ms, "9.9s", "9.9s"},
		{12340 * ms, "12.3s", "12s"},
		{59990 * ms, "59.9s", "59s"},
		{time.Minute, "1m00s", "1m00s"},
		{125 * time.Second, "2m05s", "2m05s"},
		{time.Hour - ms, "59m59s", "59m59s"},
		{time.Hour, "1h00m", "1h00m"},
		{100*time.Hour + 61*time.Second, "100h01m", "100h01m"},
	} {
		if took, underway := seconds(tt.d), ticking(tt.d); took != tt.took || underway != tt.underway {
			t.Errorf("%v: got %s and %s, want %s and %s", tt.d, took, underway, tt.took, tt.underway)
		}
	}
}
