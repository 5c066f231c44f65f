package tensor_test

import (
	"fmt"
	"slices"

	"tarn/tensor"
)

// graphAct is a step that makes no tensor.
type graphAct struct {
	name   string  // of the method, or of what is done to a scope
	how    string  // of a hook: what it does; of an in-place change: the handle
	t, u   value   // what it is done to, and with; noValue for none
	number float64 // to fill with
	scope  int     // its number
	parent int     // of one that opens, -1 for none
	up     *graphLeaf
	retain bool
}

// act does it and returns its error.
func (m *machine) act(step int, a *graphAct) error {
	t, u := m.tensors[a.t], m.tensors[a.u]
	if a.how == "NoGrad" {
		t = t.NoGrad()
	}
	switch a.name {
	case "AddInPlace":
		return t.AddInPlace(u)
	case "SubInPlace":
		return t.SubInPlace(u)
	case "MulInPlace":
		return t.MulInPlace(u)
	case "CopyInPlace":
		return t.CopyInPlace(u)
	case "Fill":
		return t.Fill(a.number)
	case "RandUniform":
		return t.RandUniform(tensor.NewGenerator(uint64(step)), -1, 1)
	case "OnGrad":
		remove, err := t.OnGrad(m.gradHook(step, a.how))
		if a.how == "removed" {
			remove()
		}
		return err
	case "AfterGrad":
		_, err := t.AfterGrad(m.afterHook(step, a.how, t))
		return err
	case "KeepGrad":
		return t.KeepGrad()
	case "ZeroGrad":
		return t.ZeroGrad()
	case "Release":
		return t.Release()
	case "Backward":
		up := m.up(a.up)
		defer func() { m.errs = append(m.errs, up.Release()) }()
		if a.retain {
			return t.BackwardWith(up, tensor.Retain)
		}
		return t.BackwardWith(up)
	case "Keep":
		return m.scope(a.scope).Keep(t)
	case "open":
		if a.parent < 0 {
			m.scopes[a.scope] = tensor.NewScope()
		} else {
			m.scopes[a.scope] = m.scope(a.parent).Child()
		}
		return nil
	case "close":
		return m.scope(a.scope).Close()
	}
	panic("no act is called " + a.name)
}

// gradHook takes down each gradient that it sees, and then does as told.
func (m *machine) gradHook(step int, how string) func(g *tensor.Tensor) *tensor.Tensor {
	calls := 0
	return func(g *tensor.Tensor) *tensor.Tensor {
		m.o.take(fmt.Sprintf("what the hook of step %d saw in call %d", step, calls), noValue, g)
		calls++
		switch how {
		case "scales":
			return g.MulScalar(-0.5)
		case "detaches":
			return g.Detach()
		case "clones":
			return g.Clone()
		case "fails":
			return tensor.FromError(g, errGraphHook)
		}
		return nil
	}
}

// afterHook is one for AfterGrad of t.
func (m *machine) afterHook(step int, how string, t *tensor.Tensor) func(g *tensor.Tensor) error {
	calls := 0
	return func(g *tensor.Tensor) error {
		m.o.take(fmt.Sprintf("what was added up after step %d in call %d", step, calls), noValue, g)
		calls++
		switch how {
		case "zeroes":
			return t.ZeroGrad()
		case "fails":
			return errGraphHook
		}
		return nil
	}
}

// text is the act as Go, or nearly.
func (a *graphAct) text() string {
	t, u := argText(a.t), argText(a.u)
	switch a.name {
	case "OnGrad", "AfterGrad":
		return fmt.Sprintf("%s.%s(a function that %s)", t, a.name, a.how)
	case "Fill":
		u = argText(a.number)
	case "open":
		if a.parent < 0 {
			return fmt.Sprintf("scopes[%d] = tensor.NewScope()", a.scope)
		}
		return fmt.Sprintf("scopes[%d] = scopes[%d].Child()", a.scope, a.parent)
	case "close":
		return fmt.Sprintf("scopes[%d].Close()", a.scope)
	case "Keep":
		return fmt.Sprintf("scopes[%d].Keep(%s)", a.scope, t)
	case "Backward":
		u = a.up.text()
		if a.retain {
			u += ", tensor.Retain"
		}
		return fmt.Sprintf("t0.Log(%s.BackwardWith(%s))", t, u)
	case "KeepGrad", "ZeroGrad", "Release":
		u = ""
	case "RandUniform":
		u = "a generator that begins with the step's number, -1, 1"
	}
	if a.how == "NoGrad" {
		t += ".NoGrad()"
	}
	return fmt.Sprintf("t0.Log(%s.%s(%s))", t, a.name, u)
}

// drawAct draws one, or nothing.
func (g *graphDraw) drawAct() (a graphAct, ok bool) {
	a.t, a.u = noValue, noValue
	// any is some tensor, of those that cannot be used one now and then.
	any := func(fits func(e *graphEntry) bool) bool {
		e, ok := g.some(fits)
		if g.pick(12) == 0 {
			e, ok = g.whatever(), true
		}
		if ok {
			a.t = e.v
		}
		return ok
	}
	graded := func(e *graphEntry) bool { return e.grad }
	switch g.pick(16) {
	case 0, 1, 2, 3, 4:
		return g.drawChange()
	case 5, 6:
		a.name, a.how = "OnGrad", oneOf(g, "looks", "scales", "detaches", "clones", "looks", "scales", "removed", "fails")
		return a, any(graded)
	case 7:
		a.name, a.how = "AfterGrad", oneOf(g, "looks", "zeroes", "looks", "fails")
		return a, any(func(e *graphEntry) bool { return e.grad && g.p.made(e.v).leaf != nil })
	case 8:
		a.name = oneOf(g, "KeepGrad", "KeepGrad", "ZeroGrad")
		return a, any(graded)
	case 9:
		a.name, a.retain = "Backward", g.pick(2) > 0
		if !any(graded) {
			return a, false
		}
		if g.walked != noValue && g.pick(2) == 0 {
			a.t = g.walked
		}
		g.walked = a.t
		e := g.entry(a.t)
		a.up = &graphLeaf{dt: e.dt, shape: e.shape, kind: "normal", seed: uint64(g.pick(256))}
		return a, e.dt != 0
	case 10:
		a.name = "Release"
		return a, any(func(e *graphEntry) bool { return true })
	case 11, 12:
		a.name, a.scope, a.parent = "open", len(g.m.scopes), g.pick(len(g.m.scopes)+1)-1
		return a, a.scope < 5
	case 13:
		a.name, a.scope = "close", g.pick(len(g.m.scopes))
		return a, true
	case 14:
		a.name, a.scope = "Keep", g.pick(len(g.m.scopes))
		return a, any(func(e *graphEntry) bool { return true })
	}
	return a, false
}

// drawChange draws an in-place change whose result is of a size to go on with.
func (g *graphDraw) drawChange() (a graphAct, ok bool) {
	a.name, a.t, a.u = oneOf(g, "AddInPlace", "SubInPlace", "MulInPlace", "CopyInPlace", "Fill", "RandUniform"), noValue, noValue
	e, ok := g.some(isNumber)
	if !ok {
		return a, false
	}
	a.t, a.number = e.v, oneOf(g, 0.5, 1.0, 2.0)
	if e.grad && g.pick(4) > 0 {
		a.how = "NoGrad"
	}
	if a.name == "Fill" || a.name == "RandUniform" {
		return a, true
	}
	u := g.partner(e, func(u *graphEntry) bool { return isNumber(u) && (!u.grad || g.pick(4) == 0) })
	a.u = u.v
	t := g.m.tensors[e.v].Detach()
	defer t.Release()
	by := g.m.tensors[u.v].Detach()
	defer by.Release()
	var made *tensor.Tensor
	switch a.name {
	case "AddInPlace":
		made = t.Add(by)
	case "SubInPlace":
		made = t.Sub(by)
	case "MulInPlace":
		made = t.Mul(by)
	default:
		return a, true
	}
	defer made.Release()
	_, _, fits := rangeOf(made)
	return a, fits || made.Err() != nil
}

// refresh looks at the pool again after an act, and returns the tensors whose
// elements have changed.
func (g *graphDraw) refresh() (changed []value) {
	for _, e := range g.pool {
		if e.hidden {
			continue
		}
		was := e.numbers
		if g.look(e); !e.gone && !slices.Equal(was, e.numbers) {
			changed = append(changed, e.v)
		}
	}
	return changed
}
