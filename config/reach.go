package config

import (
	"slices"
	"strings"
)

// follow calls visit for each name in the instance: in its slots, of the judge of its text, and of the judges of its
// criteria. A judge of criteria is visited with its rule, else the rule is nil.
func (in *Instance) follow(visit func(ref Ref, rule *Criterion)) {
	for _, slot := range in.Slots {
		for _, member := range slot.Members {
			visit(member, nil)
		}
	}
	if !in.Judge.IsZero() {
		visit(in.Judge, nil)
	}
	for _, criteria := range []*Criterion{in.Config.Failure, in.Config.Acceptance} {
		criteria.Visit(func(rule *Criterion) {
			if rule.Rule == RuleText {
				visit(rule.Judge, rule)
			}
		})
	}
}

// maxNested is how many instances deep a run may go, the outermost and judges included.
const maxNested = 100

// paths finds instances that lead back to themselves and those that lead too deep, through slots or judges. It goes
// through each instance once, however many lead to it.
type paths struct {
	*scope
	depth    map[*Instance]int // how many instances deep each of those goes that are done
	deep     bool              // it was reported that one goes too deep
	replaced *Instance         // what the first instance stands for, or nil
	trail    []*Instance
	at       map[*Instance]int // where in the trail an instance is
	names    []string          // the trail as it is shown
}

func (p *paths) visit(in *Instance, as string) {
	if p.depth[in] > 0 {
		return
	}
	p.at[in] = len(p.trail)
	if len(p.trail) == 0 && p.replaced != nil {
		p.at[p.replaced] = 0
	}
	p.trail, p.names = append(p.trail, in), append(p.names, in.Name+as)
	depth := 1
	in.follow(func(ref Ref, rule *Criterion) {
		if ref.Instance == nil {
			return
		}
		pos, path, as := ref.Pos, ref.path, ""
		if rule != nil {
			pos, path, as = rule.Pos, rule.path, " (judge)"
		}
		if i, back := p.at[ref.Instance]; back {
			p.cycle(pos, path, i, ref.Name+as)
			return
		}
		p.visit(ref.Instance, as)
		depth = max(depth, 1+p.depth[ref.Instance])
		if depth > maxNested && !p.deep {
			p.deep = true
			p.report(SeverityError, pos, path, "nested more than %d patterns deep; let fewer lead to one another", maxNested)
		}
	})
	delete(p.at, in)
	p.trail, p.names = p.trail[:len(p.trail)-1], p.names[:len(p.names)-1]
	p.depth[in] = depth
}

// cycle reports that the last instance of the trail leads back to that at index i, by the given name.
func (p *paths) cycle(pos Pos, path string, i int, name string) {
	const shown = 20 // names, of a longer cycle
	first := p.trail[i].Name
	names := append(slices.Clone(p.names[max(i, len(p.names)-shown):]), name)
	names[0] = first
	if i < len(p.names)-shown {
		names[0] = first + " → …"
	}
	p.report(SeverityError, pos, path, "this leads back to %s: %s; break the cycle", first, strings.Join(names, " → "))
}

// Reach returns the delegates that a run of the instance may call, judges included, each once, in the order in which
// they are met. The criteria of what a judge consists of count, too.
func (in *Instance) Reach() []*Delegate {
	var found []*Delegate
	seen := map[*Delegate]bool{}
	in.walk(map[*Instance]bool{}, func(*Instance) {}, func(d *Delegate) {
		if !seen[d] {
			seen[d] = true
			found = append(found, d)
		}
	})
	return found
}

// Unset returns a problem for each variable of the environment that a run of the instance may need and lookup does
// not find, by position. Keys that a delegate takes from the environment by name are not among them.
func (in *Instance) Unset(lookup func(string) (string, bool)) Problems {
	var unset Problems
	seen := map[*Delegate]bool{}
	in.walk(map[*Instance]bool{}, func(in *Instance) { unset = append(unset, unsetIn(in.texts, lookup)...) },
		func(d *Delegate) {
			if !seen[d] {
				seen[d] = true
				unset = append(unset, d.Unset(lookup)...)
			}
		})
	unset.Sort()
	return unset
}

// Unset returns a problem for each variable of the environment that the delegate needs and lookup does not find.
func (d *Delegate) Unset(lookup func(string) (string, bool)) Problems {
	return unsetIn(d.texts, lookup)
}

func unsetIn(texts []Text, lookup func(string) (string, bool)) Problems {
	var unset Problems
	for _, t := range texts {
		unset = append(unset, t.Unset(lookup)...)
	}
	unset.Sort()
	return unset
}

// walk goes through each instance that a run of in may call, once, and through the delegates in each.
func (in *Instance) walk(seen map[*Instance]bool, instance func(*Instance), delegate func(*Delegate)) {
	if seen[in] {
		return
	}
	seen[in] = true
	instance(in)
	in.follow(func(ref Ref, _ *Criterion) {
		if ref.Delegate != nil {
			delegate(ref.Delegate)
		} else if ref.Instance != nil {
			ref.Instance.walk(seen, instance, delegate)
		}
	})
}
