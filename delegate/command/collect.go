package command

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/process"
)

// collect makes the reply, or the failure, of what the program did.
func (d *Delegate) collect(brief firstgood.Brief, result process.Result, err error) (firstgood.Reply, error) {
	if errors.Is(err, process.ErrStopped) {
		return firstgood.Reply{}, err
	}
	var tooMuch *process.OutputLimitError
	kind, reason := firstgood.KindError, ""
	switch {
	case errors.As(err, &tooMuch):
		reason = fmt.Sprintf("the output went beyond max_output (%d bytes) and the program was ended", tooMuch.Limit)
	case errors.Is(err, process.ErrTooLong) && d.briefInArgv():
		kind = firstgood.KindContextLength
		reason = fmt.Sprintf("the brief (%d bytes) is too long for an argument: leave {brief} out of argv, so that it goes to stdin",
			len(brief.String()))
	case err != nil:
		kind, reason = firstgood.KindUnavailable, err.Error()
	case result.ExitCode != 0:
		reason = result.Status()
		if end := lastLines(d.stderr(result)); end != "" {
			reason += ": " + end
		} else {
			reason += ", nothing on stderr"
		}
	case !utf8.Valid(result.Stdout):
		reason = fmt.Sprintf("the output is not UTF-8 text (first at byte %d)", invalidAt(result.Stdout))
	default:
		return firstgood.Reply{
			Text:  string(trimNewline(result.Stdout)),
			Usage: firstgood.Usage{Source: firstgood.SourceUnknown},
		}, nil
	}
	return firstgood.Reply{}, &firstgood.Error{
		Kind:   kind,
		Reason: d.secrets.hide(reason, false),
		Detail: d.stderr(result),
		Err:    err,
	}
}

// stderr returns the end of stderr without the secrets.
func (d *Delegate) stderr(result process.Result) string {
	text := strings.ToValidUTF8(d.secrets.hide(string(result.Stderr), result.StderrCut), "\uFFFD")
	if result.StderrCut {
		text = "…" + text
	}
	return text
}

func trimNewline(text []byte) []byte {
	if rest, ok := bytes.CutSuffix(text, []byte("\n")); ok {
		return bytes.TrimSuffix(rest, []byte("\r"))
	}
	return text
}

// invalidAt returns the place of the first byte that is not UTF-8.
func invalidAt(text []byte) int {
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])`)

// lastLines returns the last lines that say something, on one line and without what steers a terminal.
func lastLines(text string) string {
	const most, units = 3, 200
	text = escapes.ReplaceAllString(text, "")
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	var last []string
	for i := len(lines) - 1; i >= 0 && len(last) < most; i-- {
		line := strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, lines[i]))
		if line == "" {
			continue
		}
		line, cut := firstgood.Excerpt(line, units)
		if cut {
			line += "…"
		}
		last = append([]string{line}, last...)
	}
	return strings.Join(last, " | ")
}
