package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/isolate"
)

// change is what an attempt did to files in a place of its own; see [firstgood.Change].
type change struct {
	base *isolate.Base

	mu       sync.Mutex
	patch    *isolate.Patch // less what was restored
	restored []string
}

func (c *change) now() *isolate.Patch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.patch
}

func (c *change) Diff() []byte { return c.now().Diff }

func (c *change) Restored() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.restored)
}

// reduce leaves out what an exam has restored.
func (c *change) reduce(exam *isolate.Exam) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.patch = exam.Patch
	c.restored = append(c.restored, exam.Restored...)
	slices.Sort(c.restored)
	c.restored = slices.Compact(c.restored)
}

// size is the change in a few words.
func (c *change) size() string {
	p := c.now()
	if p.Empty() {
		return "no change"
	}
	added, removed := 0, 0
	for _, f := range p.Files {
		added, removed = added+f.Added, removed+f.Removed
	}
	files := "1 file"
	if len(p.Files) != 1 {
		files = fmt.Sprintf("%d files", len(p.Files))
	}
	return fmt.Sprintf("%s, +%d -%d", files, added, removed)
}

// patchRules are what an instance says of the change that a reply brings.
type patchRules struct {
	protect  []string
	nonempty bool
	paths    []string      // as they are written; nil: any
	under    isolate.Globs // the same
	most     int           // lines; 0: no bound
}

// patchRulesOf reads the globs of an instance.
func (e *Engine) patchRulesOf(in *config.Instance) (*patchRules, error) {
	r := &patchRules{protect: isolate.DefaultProtect()}
	var err error
	if in.Config.Protect != nil {
		if r.protect, err = e.globs(in.Config.Protect); err != nil {
			return nil, err
		}
	}
	if p := in.Config.Patch; p != nil {
		r.nonempty, r.most = p.NonEmpty, p.MaxLines
		if r.paths, err = e.globs(p.Paths); err != nil {
			return nil, err
		}
		if r.under, err = isolate.NewGlobs(r.paths); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (e *Engine) globs(texts []config.Text) ([]string, error) {
	globs := []string{}
	for _, text := range texts {
		glob, err := text.Expand(e.lookup)
		if err != nil {
			return nil, err
		}
		if _, err := isolate.NewGlobs([]string{glob}); err != nil {
			return nil, config.Problems{{Pos: text.Pos(), Message: err.Error(), Err: err}}
		}
		globs = append(globs, glob)
	}
	return globs, nil
}

// verdict is what the rules say of a change by itself.
func (r *patchRules) verdict(c *change) firstgood.Verdict {
	if c == nil || c.now().Empty() {
		if r.nonempty {
			return firstgood.Verdict{Rejected: true, Reason: "it changed no file"}
		}
		return firstgood.Verdict{}
	}
	p := c.now()
	for _, f := range p.Files {
		for _, name := range []string{f.Path, f.Old} {
			if name != "" && len(r.paths) > 0 && !r.under.Match(name) {
				return firstgood.Verdict{Rejected: true, Reason: fmt.Sprintf("it changed %s, which is not under %s", name, strings.Join(r.paths, ", "))}
			}
		}
	}
	if lines := p.Lines(); r.most > 0 && lines > r.most {
		return firstgood.Verdict{Rejected: true, Reason: fmt.Sprintf("its change has %d lines, more than %d", lines, r.most)}
	}
	return firstgood.Verdict{}
}

// examiner has the tree in which the commands that weigh one reply run: the base with the reply's change, in which what is
// protected is as it was. It is made when the first command needs it.
type examiner struct {
	change  *change
	protect []string

	once sync.Once
	exam *isolate.Exam
	err  error
}

type examinerKey struct{}

// place returns the folder of the exam, and variables for what works there.
func (x *examiner) place(ctx context.Context) (dir string, env []string, err error) {
	x.once.Do(func() {
		if x.exam, x.err = x.change.base.Exam(ctx, x.change.now(), x.protect); x.err == nil {
			x.change.reduce(x.exam)
		}
	})
	if x.err != nil {
		return "", nil, fmt.Errorf("the change cannot be examined: %w", x.err)
	}
	return x.exam.Dir(), x.exam.Env(), nil
}

func (x *examiner) close(ctx context.Context) {
	if x.exam != nil {
		_ = x.exam.Remove(context.WithoutCancel(ctx))
	}
}

// examined weighs the change that a reply brings: by the rules about it, then by the criteria, whose commands run in an exam.
func (r *patchRules) examined(weigh firstgood.Criteria[firstgood.Reply]) firstgood.Criteria[firstgood.Reply] {
	return func(ctx context.Context, brief firstgood.Brief, reply firstgood.Reply) (firstgood.Verdict, error) {
		c, _ := reply.Change.(*change)
		if v := r.verdict(c); v.Rejected || weigh == nil {
			return v, nil
		}
		if c == nil {
			return weigh(ctx, brief, reply)
		}
		x := &examiner{change: c, protect: r.protect}
		defer x.close(ctx)
		verdict, err := weigh(context.WithValue(ctx, examinerKey{}, x), brief, reply)
		switch {
		case err != nil || !verdict.Rejected:
		case x.exam != nil && len(x.exam.Restored) > 0:
			verdict.Reason = restoredReason(x.exam.Restored, c.now().Empty()) + ": " + verdict.Reason
		case c.now().Empty():
			verdict.Reason = "it changed no file: " + verdict.Reason
		}
		return verdict, err
	}
}

// restoredReason says what became of a change to protected paths.
func restoredReason(paths []string, nothingLeft bool) string {
	const most = 3
	names := strings.Join(paths[:min(len(paths), most)], ", ")
	if len(paths) > most {
		names += fmt.Sprintf(" and %d more", len(paths)-most)
	}
	said := "it changed " + names + ", which is protected and was put back"
	if nothingLeft {
		said += ", and nothing else"
	}
	return said
}

// ErrNoChange is returned by Apply for a result without a change.
var ErrNoChange = errors.New("there is no change to apply")

// Apply brings the change of a run's winner to the user's files, as one of the Apply constants of package config says, and
// returns what it has become: "patch", the name of a branch, or a commit; "" for none. A change that cannot be applied is an
// error that matches [isolate.ErrConflict], and nothing is changed then. Title names a commit.
func (b *Bound) Apply(ctx context.Context, r *Result, how, title string) (string, error) {
	c, ok := r.Outcome.Result.Change.(*change)
	if r.Outcome.Status != firstgood.StatusWon || how == "" || how == config.ApplyNone {
		return "", nil
	}
	if !ok || c.now().Empty() {
		return "", ErrNoChange
	}
	r.Applied, r.ApplyError = c.base.Apply(ctx, c.now(), isolate.How(how), isolate.Options{Message: title})
	return r.Applied, r.ApplyError
}

// ChangedFiles are the files of a change that a run of the engine brought, sorted by path. It is nil for any other change.
func ChangedFiles(c firstgood.Change) []isolate.FileChange {
	made, ok := c.(*change)
	if !ok {
		return nil
	}
	return slices.Clone(made.now().Files)
}
