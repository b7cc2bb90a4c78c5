package criteria

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/firstgood/firstgood"
)

// OnUnparseable says what becomes of a reply whose judge answered something that cannot be read as a verdict.
type OnUnparseable string

// What may become of it. The call in the record carries a warning in both cases.
const (
	Open   OnUnparseable = "open"   // the rule leans to accepting the reply, as the patterns of OpenProse do
	Reject OnUnparseable = "reject" // the rule leans to rejecting it
)

// JudgeConfig describes a rule in plain language.
type JudgeConfig struct {
	// Text is what the judge weighs. A blank text asks for nothing, and the judge is never called.
	Text string
	// Judge gives the verdict; required unless Text is blank. Its own attempt timeout, see [firstgood.Limited], ends
	// each call, and one that does not return then is left behind; a call that ctx ends is waited for. A panic in it
	// counts as no answer.
	Judge firstgood.Delegate[firstgood.Reply]
	// SeesBrief shows the judge the whole brief as well, with its inputs.
	SeesBrief bool
	// Chars is how much of the reply the judge is shown, in UTF-16 code units; 0 is [firstgood.ExcerptUnits].
	Chars int
	// OnUnparseable is Open when empty.
	OnUnparseable OnUnparseable
	// Retries is how often the judge is called again, at once, when it did not answer; 0 is never. A failure that
	// would only repeat itself (auth, bad_request, context_length, refused, no_start) is not retried, and neither is
	// an unreadable answer.
	Retries int
}

// Judge returns a rule that holds when the judge says so. It asks whether the reply is a failure where the rule
// speaks against it, and whether it is acceptable where the rule speaks for it; a [Not] around the rule turns
// that round.
//
// The judge is sent the question, the text, the beginning of the reply and, if asked for, the brief, and nothing
// else. Reply and brief stand between markers that occur in neither; the same input gives the same bytes. A reply
// can still try to talk its judge round. How the answer is read is described at [ParseVerdict].
//
// Each call is entered in the record that ctx carries, for the call that is being judged, and what the judge
// calls itself is entered under it. A judge that is an instance says so by a method Nests() bool.
func Judge(c JudgeConfig) Rule { return judge{c} }

type judge struct{ JudgeConfig }

func (j judge) Cost() Cost  { return CostJudge }
func (j judge) blank() bool { return strings.TrimSpace(j.Text) == "" }

func (j judge) compile(at position) (find, error) {
	switch {
	case j.blank():
		return nil, errors.New("judge: the text is blank")
	case j.Judge == nil:
		return nil, fmt.Errorf("judge: there is no judge to weigh %q", j.Text)
	case j.Chars < 0:
		return nil, fmt.Errorf("judge: chars is %d, want 0 or more", j.Chars)
	case j.Retries < 0:
		return nil, fmt.Errorf("judge: retries is %d, want 0 or more", j.Retries)
	case j.OnUnparseable != "" && j.OnUnparseable != Open && j.OnUnparseable != Reject:
		return nil, fmt.Errorf("judge: on_unparseable is %q, want %q or %q", j.OnUnparseable, Open, Reject)
	}
	return func(ctx context.Context, brief firstgood.Brief, reply firstgood.Reply) (Finding, error) {
		q, err := j.question(at, brief, reply)
		if err != nil {
			return Finding{}, err
		}
		read := func(answer string) (Finding, string) { return j.read(answer, at, q) }
		for tries := 0; ; tries++ {
			f, err := consult(ctx, j.Judge, q.brief, read)
			if err == nil || ctx.Err() != nil {
				return f, err
			}
			if tries == j.Retries || !worthRetrying(err) {
				return Finding{}, &outage{j.Judge.Name(), err}
			}
		}
	}, nil
}

// read turns the judge's answer into a finding, with a warning when it could not be read.
func (j judge) read(answer string, at position, q question) (Finding, string) {
	if value, reason, ok := ParseVerdict(answer, at.key(), q.shown...); ok {
		return Finding{Holds: value, Reason: reason}, ""
	}
	said, cut := firstgood.Excerpt(strings.Join(strings.Fields(answer), " "), 80)
	switch {
	case cut:
		said += "…"
	case said == "":
		said = "the judge answered nothing"
	}
	if j.OnUnparseable == Reject {
		return Finding{Holds: !at.open(), Reason: "the judge gave no verdict that could be read", Detail: said},
			"unparseable verdict, taken as rejected: " + said
	}
	return Finding{Holds: at.open()}, "unparseable verdict, taken as accepted: " + said
}

// outage means that a judge did not answer, so that nobody can tell whether the rule holds.
type outage struct {
	judge string
	err   error
}

func (o *outage) Error() string { return fmt.Sprintf("judge %s: %v", o.judge, o.err) }
func (o *outage) Unwrap() error { return o.err }

func worthRetrying(err error) bool {
	switch firstgood.FailureOf("", 0, err).Kind {
	case firstgood.KindAuth, firstgood.KindBadRequest, firstgood.KindContextLength, firstgood.KindRefused, firstgood.KindNoStart:
		return false
	}
	return true
}
