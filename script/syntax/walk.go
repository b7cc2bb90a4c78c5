package syntax

// Walk calls visit for each statement, expression, condition and test of the list and of what is in it, each before what is in
// it, in source order.
func Walk(list []Stmt, visit func(node any)) {
	w := walker(visit)
	w.stmts(list)
}

type walker func(any)

func (w walker) stmts(list []Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

func (w walker) stmt(s Stmt) {
	w(s)
	switch s := s.(type) {
	case *Bind:
		w.expr(s.Value)
	case *Assign:
		w.ref(s.Target)
		w.expr(s.Value)
	case *Return:
		w.expr(s.Value)
	case *Throw:
		w.expr(s.Value)
	case *Do:
		w.expr(s.Value)
	case *Record:
		w.expr(s.Value)
		w.ref(s.List)
	case *If:
		for _, arm := range s.Arms {
			w.cond(arm.Cond)
			w.stmts(arm.Body)
		}
		w.stmts(s.Else)
	case *Try:
		w.stmts(s.Body)
		w.stmts(s.Catch)
		w.stmts(s.Finally)
	case *Block:
		w.stmts(s.Body)
	}
}

func (w walker) ref(r *Ref) {
	if r != nil {
		w.expr(r)
	}
}

func (w walker) exprs(list []Expr) {
	for _, x := range list {
		w.expr(x)
	}
}

func (w walker) expr(x Expr) {
	if x == nil {
		return
	}
	w(x)
	switch x := x.(type) {
	case *String:
		for _, part := range x.Parts {
			w.ref(part.Ref)
		}
	case *List:
		w.exprs(x.Items)
	case *Object:
		for _, e := range x.Entries {
			w.expr(e.Value)
		}
	case *Ref:
		for _, step := range x.Path {
			w.expr(step.Index)
		}
	case *Unary:
		w.expr(x.X)
	case *Binary:
		w.expr(x.X)
		w.expr(x.Y)
	case *Call:
		w.exprs(x.Args)
		for _, in := range x.Inputs {
			w.expr(in.Value)
		}
	case *Parallel:
		w.expr(x.Mods.Count)
		w.stmts(x.Body)
	case *Repeat:
		w.expr(x.Mods.Count)
		w.expr(x.Count)
		w.stmts(x.Body)
	case *For:
		w.expr(x.Mods.Count)
		w.expr(x.In)
		w.stmts(x.Body)
	case *Loop:
		w.cond(x.Cond)
		w.expr(x.Max)
		w.stmts(x.Body)
	case *DoBlock:
		w.exprs(x.Args)
		w.stmts(x.Body)
	}
}

func (w walker) cond(c *Cond) {
	if c == nil {
		return
	}
	w(c)
	w.test(c.Test)
}

func (w walker) test(t Test) {
	if t == nil {
		return
	}
	w(t)
	switch t := t.(type) {
	case *ExprTest:
		w.expr(t.X)
	case *IsTest:
		w.ref(t.X)
	case *MeetsTest:
		w.ref(t.X)
		w.ref(t.Y)
	case *VerdictTest:
		w.ref(t.V)
	case *CriteriaTest:
		w.ref(t.K)
		w.ref(t.X)
	case *NotTest:
		w.test(t.X)
	case *AndTest:
		w.test(t.X)
		w.test(t.Y)
	case *OrTest:
		w.test(t.X)
		w.test(t.Y)
	}
}

// Free returns the names that a script reads and that nothing in it binds, each once, in the order in which they are met. The
// names that calls name are not among them.
func Free(s *Script) []Name {
	bound := map[string]bool{}
	Walk(s.Body, func(node any) {
		bind := func(names ...Name) {
			for _, n := range names {
				bound[n.Text] = true
			}
		}
		switch n := node.(type) {
		case *Bind:
			bind(n.Names...)
		case *Try:
			bind(n.As)
		case *Block:
			bind(n.Params...)
		case *Repeat:
			bind(n.As)
		case *For:
			bind(n.Each, n.Index)
		case *Loop:
			bind(n.As)
		}
	})
	var free []Name
	Walk(s.Body, func(node any) {
		if ref, ok := node.(*Ref); ok && !bound[ref.Name.Text] {
			bound[ref.Name.Text] = true
			free = append(free, ref.Name)
		}
	})
	return free
}
