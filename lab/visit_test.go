package lab

import (
	"testing"
	"time"
)

// TestKeepBytes shows that large bodies push old visits out, but never the newest one.
func TestKeepBytes(t *testing.T) {
	b := book{keep: 10}
	large := make([]byte, keepBytes/2)
	for range 3 {
		b.enter(Visit{body: large})
	}
	if visits := b.copies(); len(visits) != 2 || visits[0].Number != 2 || b.size != keepBytes {
		t.Errorf("%d visits with %d bytes are kept, want the last two", len(visits), b.size)
	}
	b.enter(Visit{body: make([]byte, keepBytes+1)})
	if visits := b.copies(); len(visits) != 1 || visits[0].Number != 4 {
		t.Errorf("%d visits are kept, want the newest", len(visits))
	}
}

// TestBodyIsACopy shows that a holder of a visit cannot change the record.
func TestBodyIsACopy(t *testing.T) {
	b := book{keep: 1}
	b.enter(Visit{body: []byte("as it was")})
	b.copies()[0].Body()[0] = 'X'
	if got := string(b.copies()[0].Body()); got != "as it was" {
		t.Errorf("the record now has %q", got)
	}
}

func TestVisitString(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, v := range map[string]Visit{
		`#3 slow:2s stream began: "Name a \"colour\"."`: {Number: 3, Model: "slow:2s", Stream: true, Brief: `Name a "colour".`, Started: began},
		`#3 slow:2s gone after 120ms`:                   {Number: 3, Model: "slow:2s", Started: began, Ended: began.Add(120 * time.Millisecond), End: EndGone},
		`#4 (no model) 400 done after 0s`:               {Number: 4, Status: 400, Started: began, Ended: began, End: EndDone},
	} {
		if got := v.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
