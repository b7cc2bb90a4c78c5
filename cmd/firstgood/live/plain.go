package live

import "fmt"

// plainCells is how wide a reason in a plain line may be.
const plainCells = 300

// plain is the line, without its newline, that says what has happened to r; "" for nothing worth one.
func (b *board) plain(r *row, what event) string {
	name := r.path
	if attempt := r.attempts(false); attempt != "" {
		name += " (" + attempt + ")"
	}
	switch what {
	case started:
		return name + ": started"
	case warned:
		return name + ": warning: " + cut(r.warning, plainCells, b.ellipsis)
	case ended:
		line := fmt.Sprintf("%s: %s after %s", name, r.state.look().word, seconds(r.took))
		if r.state == failed || r.state == rejected {
			line += ": " + cut(r.reason, plainCells, b.ellipsis)
		} else if r.said != "" && (r.state == won || r.state == lost || r.state == accepted) {
			line += ": " + cut(r.said, plainCells, b.ellipsis)
		}
		return line
	}
	return ""
}

// attempts says which of its attempts r is at, where it has several; short is for where there is little room.
func (r *row) attempts(short bool) string {
	switch {
	case r.repeats > 0 && short:
		return fmt.Sprintf("%d/%d", r.attempt, r.repeats)
	case r.repeats > 0:
		return fmt.Sprintf("attempt %d of %d", r.attempt, r.repeats)
	case r.attempt > 1:
		return fmt.Sprintf("attempt %d", r.attempt)
	}
	return ""
}
