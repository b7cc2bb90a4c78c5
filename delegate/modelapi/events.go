package modelapi

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// event is a server-sent event.
type event struct {
	name string // empty when the stream gave none
	data []byte
}

// events reads a stream of server-sent events. It keeps one event at most; what bounds that is the body.
//
// Lines end by LF or CRLF: a CR alone, which the standard allows too, ends none. An event that the end of the body cuts
// short is an event, since some servers forget the last empty line.
type events struct {
	body  *bufio.Reader
	begun bool
	line  []byte // used again for each line that does not fit into the body's buffer
	data  []byte // used again for each event
}

// next returns the next event that has data, which is valid until the next call. At the end of the body the error is
// [io.EOF].
func (s *events) next() (event, error) {
	e := event{}
	s.data = s.data[:0]
	lines := 0
	for {
		line, err := s.readLine()
		if unfinished := len(line) > 0 || lines > 0; err != nil && (!unfinished || !errors.Is(err, io.EOF)) {
			return event{}, err
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if lines++; lines > 1 {
				s.data = append(s.data, '\n')
			}
			s.data = append(s.data, value...)
		case "event":
			e.name = string(value)
		}
		if len(line) > 0 && err == nil {
			continue // a field, or a comment
		}
		if lines > 0 {
			e.data = s.data
			return e, nil
		}
		if err != nil {
			return event{}, err
		}
		e.name = ""
	}
}

// readLine returns a line without its end, valid until the next call. Beside io.EOF it may be the last one.
func (s *events) readLine() ([]byte, error) {
	line, err := s.body.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		s.line = s.line[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			s.line = append(s.line, line...)
			line, err = s.body.ReadSlice('\n')
		}
		s.line = append(s.line, line...)
		line = s.line
	}
	if !s.begun {
		s.begun = true
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), err
}
