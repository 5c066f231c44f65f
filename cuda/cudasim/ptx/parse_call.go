package ptx

import (
	"fmt"
	"slices"
)

// procedure is a .func. A call is replaced by its body, with registers, labels
// and variables of its own, so that there are no calls when a kernel runs. The
// body is read anew for each call, and not at all if there is none.
type procedure struct {
	results, params []declared
	body            int // token behind its brace, 0 for a declaration
}

// maxStatements limits what calls of calls may grow to.
const maxStatements = 1 << 17

// inlined is a procedure whose body is being read in place of a call.
type inlined struct {
	name  string
	scope string // what its labels and variables begin with
	outer *inlined
}

// findProcedures finds all .func of the module, which may be called before they are
// there.
func (p *parser) findProcedures() error {
	p.procedures = map[string]*procedure{}
	start, depth := p.at, 0
	for ; p.peek().kind != tokEnd; p.at++ {
		switch p.peek().text {
		case "{":
			depth++
		case "}":
			depth--
		case ".func":
			if depth == 0 {
				p.at++
				if err := p.procedure(); err != nil {
					return err
				}
				p.at--
			}
		}
	}
	p.at = start
	return nil
}

// procedure reads a .func from behind that word to its end.
func (p *parser) procedure() error {
	f := &procedure{}
	var err error
	if f.results, err = p.formals(); err != nil {
		return err
	}
	at := p.peek()
	name, err := p.word()
	if err != nil {
		return err
	}
	if f.params, err = p.formals(); err != nil {
		return err
	}
	for p.peek().kind == tokWord { // .noreturn and its like
		p.at++
	}
	if !p.accept(";") {
		if err := p.expect("{"); err != nil {
			return err
		}
		f.body = p.at
		for depth := 1; depth > 0; {
			switch t := p.next(); {
			case t.kind == tokEnd:
				return p.unexpected("\"}\"")
			case t.text == "{":
				depth++
			case t.text == "}":
				depth--
			}
		}
	}
	old := p.procedures[name]
	if old != nil && old.body != 0 && f.body != 0 && old.body != f.body {
		return p.fail(at, "a second function named "+name)
	}
	if old == nil || f.body != 0 {
		p.procedures[name] = f
	}
	return nil
}

// formals reads a list of parameters or results, if there is one.
func (p *parser) formals() (list []declared, err error) {
	if !p.accept("(") {
		return nil, nil
	}
	for !p.accept(")") {
		if err := p.expect(".param"); err != nil {
			return nil, err
		}
		d, err := p.declaration()
		if err != nil {
			return nil, err
		}
		list = append(list, d)
		if !p.accept(",") && p.peek().text != ")" {
			return nil, p.unexpected("\",\" or \")\"")
		}
	}
	return list, nil
}

// localParam reads a .param in a body: what a call passes. It is local memory.
func (p *parser) localParam() error {
	d, err := p.declaration()
	if err != nil {
		return err
	}
	p.made++
	own := fmt.Sprintf("%s %d", d.name, p.made) // no name has a space
	p.aliases[len(p.aliases)-1][d.name] = own
	d.name = own
	if err := p.place(".local", d); err != nil {
		return err
	}
	return p.expect(";")
}

// alias is the symbol that a name stands for here; local says that it is not
// the name of a variable of the module or of a parameter of the kernel.
func (p *parser) alias(name string) (symbol string, local bool) {
	for _, scope := range slices.Backward(p.aliases) {
		if own, ok := scope[name]; ok {
			return own, true
		}
	}
	return name, false
}

// actuals reads the list that a call passes.
func (p *parser) actuals(formals []declared) (names []string, err error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	for !p.accept(")") {
		at := p.peek()
		name, err := p.word()
		if err != nil {
			return nil, err
		}
		own, local := p.alias(name)
		if !local {
			return nil, p.fail(at, name+" is no .param of this body")
		}
		names = append(names, own)
		if !p.accept(",") && p.peek().text != ")" {
			return nil, p.unexpected("\",\" or \")\"")
		}
	}
	return names, nil
}

// call reads call[.uni] [(results),] name[, (params)]; from behind the mnemonic
// and puts the body of the function there.
func (p *parser) call(s statement) error {
	var results, params []string
	var err error
	if p.peek().text == "(" {
		if results, err = p.actuals(nil); err != nil {
			return err
		}
		if err := p.expect(","); err != nil {
			return err
		}
	}
	at := p.peek()
	name, err := p.word()
	if err != nil {
		return err
	}
	if p.accept(",") {
		if params, err = p.actuals(nil); err != nil {
			return err
		}
	}
	if err := p.expect(";"); err != nil {
		return err
	}
	f := p.procedures[name]
	switch {
	case f == nil || f.body == 0:
		return p.fail(at, "no function "+name+" with a body is in this module")
	case len(f.results) != len(results) || len(f.params) != len(params):
		return p.fail(at, fmt.Sprintf("%s has %d results and %d parameters", name, len(f.results), len(f.params)))
	}
	for in := p.in; in != nil; in = in.outer {
		if in.name == name {
			return p.fail(at, name+" calls itself, which is not supported")
		}
	}
	names := map[string]string{}
	for i, d := range append(slices.Clone(f.results), f.params...) {
		own := append(slices.Clone(results), params...)[i]
		if have := p.f.names[own]; have.size != d.size {
			return p.fail(at, fmt.Sprintf("%d bytes are passed for %s of %s, which has %d", have.size, d.name, name, d.size))
		}
		names[d.name] = own
	}
	return p.inline(s, name, f.body, names)
}

// inline reads a function's body in place of a call s.
func (p *parser) inline(s statement, name string, body int, names map[string]string) error {
	if p.made++; p.made > maxStatements {
		return p.fail(p.peek(), "more than 131,072 calls in a kernel")
	}
	scope := fmt.Sprintf("%s %d ", name, p.made)
	if s.guard != nil {
		around := s
		around.op, around.negated, around.scope = []string{"bra"}, !s.negated, scope
		around.args = []operand{{kind: argName, name: returnLabel}}
		p.f.body = append(p.f.body, around)
	}
	back, scopes, aliases := p.at, p.scopes, p.aliases
	p.at, p.scopes, p.aliases = body, []map[string]reg{{}}, []map[string]string{names}
	p.in = &inlined{name, scope, p.in}
	if err := p.block(); err != nil {
		return err
	}
	p.at, p.scopes, p.aliases, p.in = back, scopes, aliases, p.in.outer
	p.f.labels[scope+returnLabel] = len(p.f.body)
	return nil
}

// returnLabel is where the return of a function goes.
const returnLabel = "the end"

func (p *parser) scope() string {
	if p.in == nil {
		return ""
	}
	return p.in.scope
}
