package command

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/process"
)

// collect makes the reply, or the failure, of what the program did.
func (d *Delegate) collect(brief firstgood.Brief, out Output, result process.Result, err error) (firstgood.Reply, error) {
	reply, said := out.End(err == nil && result.ExitCode == 0)
	usage := usageOf(reply, said)
	if errors.Is(err, process.ErrStopped) {
		if usage.InputTokens == 0 && usage.OutputTokens == 0 {
			return firstgood.Reply{}, err
		}
		return firstgood.Reply{}, &stoppedError{err, usage}
	}
	failure := &firstgood.Error{Kind: firstgood.KindError, Usage: usage, Err: err}
	why, explained := errors.AsType[*firstgood.Error](said)
	var tooMuch *process.OutputLimitError
	switch {
	case errors.As(err, &tooMuch):
		failure.Reason = fmt.Sprintf("the output went beyond max_output (%d bytes) and the program was ended", tooMuch.Limit)
	case errors.Is(err, process.ErrTooLong) && d.briefInArgv():
		failure.Kind = firstgood.KindContextLength
		failure.Reason = fmt.Sprintf("the brief (%d bytes) is too long for an argument: leave {brief} out of argv, so that it goes to stdin",
			len(brief.String()))
	case err != nil:
		failure.Kind, failure.Reason = firstgood.KindUnavailable, err.Error()
	case explained:
		failure = new(*why)
		if failure.Usage == (firstgood.Usage{}) {
			failure.Usage = usage
		}
		failure.Reason = why.Error()
	case result.ExitCode != 0:
		failure.Reason = result.Status()
		if end := strings.Join(tidyLines(d.stderr(result), 3), " | "); end != "" {
			failure.Reason += ": " + end
		} else {
			failure.Reason += ", nothing on stderr"
		}
	case said != nil:
		failure.Reason, failure.Err = said.Error(), said
	default:
		return reply, nil
	}
	failure.Reason = d.secrets.hide(failure.Reason, false)
	failure.Detail = d.stderr(result)
	return firstgood.Reply{}, failure
}

// usageOf returns what an attempt has cost, as its output says.
func usageOf(reply firstgood.Reply, said error) firstgood.Usage {
	if metered, ok := errors.AsType[*firstgood.Error](said); ok && metered.Usage != (firstgood.Usage{}) {
		return metered.Usage
	}
	return reply.Usage
}

// stoppedError is the error of an attempt that was stopped and had cost something by then.
type stoppedError struct {
	error
	usage firstgood.Usage
}

func (e *stoppedError) Unwrap() error         { return e.error }
func (e *stoppedError) Used() firstgood.Usage { return e.usage }

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

// tidyLines returns the last lines that say something, at most n, each of bounded length and without what steers a
// terminal.
func tidyLines(text string, n int) []string {
	const units = 200
	text = escapes.ReplaceAllString(text, "")
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	var last []string
	for i := len(lines) - 1; i >= 0 && len(last) < n; i-- {
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
		last = append(last, line)
	}
	slices.Reverse(last)
	return last
}
