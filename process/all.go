package process

import "sync"

// live are the groups of the programs that run at this moment, for KillAll alone.
var live struct {
	sync.Mutex
	groups map[*group]struct{}
}

func enter(g *group) {
	live.Lock()
	defer live.Unlock()
	if live.groups == nil {
		live.groups = map[*group]struct{}{}
	}
	live.groups[g] = struct{}{}
}

func leave(g *group) {
	live.Lock()
	defer live.Unlock()
	delete(live.groups, g)
}

// KillAll kills every program that [Run] is running in this process, with its group, and waits for nothing. It is
// for a process that is about to end without waiting for its runs, such as at a second interrupt.
func KillAll() {
	live.Lock()
	defer live.Unlock()
	for g := range live.groups {
		g.killNow()
	}
}
