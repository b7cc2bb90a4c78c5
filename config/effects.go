package config

import "slices"

// An unsafe delegate leaves something behind each time it runs. So nothing may run it again that was not asked to: not a
// race, which starts several and keeps one, not the retries of a call, not a pattern that asks again; and a chain
// does not go past it.

// unsafeRetries checks the retries of an unsafe delegate, for which the default does not hold.
func (r *reading) unsafeRetries(m *Map, d *Delegate) {
	if !d.Unsafe() {
		return
	}
	if m.Has("retries") && d.Retries > 0 {
		m.Errorf("retries", "each retry would leave behind again what the delegate does (effects: unsafe); remove it, or say effects: idempotent if that is true")
		return
	}
	d.Retries = 0
}

// unsafeIn returns the first unsafe delegate among ref and what it leads to through slots, nil for none. A judge is no
// part of that: it is asked about each reply by intent.
func (s *scope) unsafeIn(ref Ref) *Delegate {
	if d := ref.Delegate; d != nil {
		if d.Unsafe() {
			return d
		}
		return nil
	}
	in := ref.Instance
	if in == nil {
		return nil
	}
	if d, known := s.unsafe[in]; known {
		return d
	}
	s.unsafe[in] = nil // a circle ends here
	for _, slot := range in.Slots {
		for _, member := range slot.Members {
			if d := s.unsafeIn(member); d != nil {
				s.unsafe[in] = d
				return d
			}
		}
	}
	return nil
}

const orIdempotent = "or say effects: idempotent if that is true"

// effects checks that nothing is done twice that must not be.
func (s *scope) effects(in *Instance) {
	if len(in.Slots) == 0 {
		return
	}
	members := in.Slots[0].Members
	var before []*Delegate
	for i, member := range members {
		d := s.unsafeIn(member)
		if d == nil {
			continue
		}
		name := d.Name
		if member.Delegate == nil {
			name += ", to which " + member.Name + " leads,"
		}
		last := i == len(members)-1
		switch {
		case in.Pattern == "race" && len(members) > 1:
			s.report(SeverityError, member.Pos, member.path, "%s leaves something behind each time it runs (effects: unsafe), and a race starts several to keep one; take it out of the race, %s", name, orIdempotent)
		case in.Pattern == "retry-with-learning" && in.Config.MaxRetries > 1:
			s.report(SeverityError, member.Pos, member.path, "%s leaves something behind each time it runs (effects: unsafe), and this runs it up to %d times; give max_retries: 1, %s", name, in.Config.MaxRetries, orIdempotent)
		case in.Pattern == "fallback-chain" && !last:
			s.report(SeverityNote, member.Pos, member.path, "a run does not go past %s once it has started: it leaves something behind each time it runs (effects: unsafe)", name)
		case in.Document != nil && in.Slots[0].List && (in.of.own == nil):
			s.report(SeverityError, member.Pos, member.path, "%s leaves something behind each time it runs (effects: unsafe), and the text of %s may run it more than once; take it out, %s", name, in.Pattern, orIdempotent)
		case in.Pattern == "fan-out" && slices.Contains(before, d):
			s.report(SeverityNote, member.Pos, member.path, "%s is here more than once, and leaves something behind each time it runs (effects: unsafe)", name)
		}
		before = append(before, d)
	}
}
