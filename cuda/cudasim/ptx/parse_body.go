package ptx

import (
	"slices"
	"strconv"
	"strings"
)

// statement is an instruction as it was parsed: names of registers are
// resolved, symbols and labels are not.
type statement struct {
	line, col int
	guard     *reg
	negated   bool
	op        []string // the mnemonic, cut at its dots
	scope     string   // of its labels
	args      []operand
}

// Kinds of operands.
const (
	argReg     = iota // reg, and second where it is a pair p|q
	argNumber         // num
	argName           // name of a symbol, label or special register
	argAddress        // [base + offset], base an argReg, argName or argNumber
	argVector         // elems
	argSink           // _
)

type operand struct {
	kind    int
	reg     reg
	negated bool // !reg
	second  *reg
	num     number
	name    string
	local   bool // name is that of a variable of the body
	base    *operand
	offset  int64
	elems   []operand
}

// block reads a body from behind its brace to the brace that closes it.
func (p *parser) block() error {
	for !p.accept("}") {
		t := p.peek()
		var err error
		switch {
		case t.kind == tokEnd:
			err = p.unexpected("\"}\"")
		case p.accept("{"):
			p.scopes, p.aliases = append(p.scopes, map[string]reg{}), append(p.aliases, map[string]string{})
			err = p.block()
			p.scopes, p.aliases = p.scopes[:len(p.scopes)-1], p.aliases[:len(p.aliases)-1]
		case p.accept(".reg"):
			err = p.registers()
		case p.accept(".shared"), p.accept(".local"):
			err = p.variable(t.text)
		case p.accept(".param"):
			err = p.localParam()
		case t.text == ".pragma":
			err = p.pragma()
		case t.kind == tokWord && p.tokens[p.at+1].text == ":":
			if _, ok := p.f.labels[p.scope()+t.text]; ok {
				return p.fail(t, "a second label "+t.text)
			}
			p.f.labels[p.scope()+t.text] = len(p.f.body)
			p.at += 2
		case t.kind == tokWord && t.text[0] != '.' || t.text == "@":
			err = p.instruction()
		default:
			err = p.unknown(t, " begins no statement that this package knows")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// registers reads a .reg declaration. Registers of inner scopes get places of
// their own, as if they had been declared outside under other names.
func (p *parser) registers() error {
	t := p.peek()
	typ, err := p.word()
	if err != nil {
		return err
	}
	d, ok := dtypes[strings.TrimPrefix(typ, ".")]
	if typ == ".f16x2" {
		d, ok = f16x2, true
	}
	if !ok {
		return p.fail(t, "registers of type "+strconv.Quote(typ)+" are not supported")
	}
	scope := p.scopes[len(p.scopes)-1]
	declare := func(name string) error {
		if _, ok := scope[name]; ok {
			return p.fail(t, "a second register "+name)
		}
		c := d.class()
		scope[name] = reg{c, p.f.registers[c], d.bits(), d.kind()}
		p.f.registers[c]++
		return nil
	}
	for {
		name, err := p.word()
		if err != nil {
			return err
		}
		if p.accept("<") {
			n, err := p.integer()
			if err != nil {
				return err
			}
			if n > 1<<16 {
				return p.fail(t, "more than 65,536 registers")
			}
			for i := range n {
				if err := declare(name + strconv.Itoa(i)); err != nil {
					return err
				}
			}
			if err := p.expect(">"); err != nil {
				return err
			}
		} else if err := declare(name); err != nil {
			return err
		}
		if !p.accept(",") {
			return p.expect(";")
		}
	}
}

func (p *parser) lookup(name string) (reg, bool) {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if r, ok := p.scopes[i][name]; ok {
			return r, true
		}
	}
	return reg{}, false
}

func (p *parser) instruction() error {
	var s statement
	if p.accept("@") {
		s.negated = p.accept("!")
		t := p.peek()
		r, ok := p.lookup(t.text)
		if !ok || r.class != classPred {
			return p.unexpected("a predicate")
		}
		p.at++
		s.guard = &r
	}
	t := p.peek()
	name, err := p.word()
	if err != nil {
		return err
	}
	s.line, s.col, s.op, s.scope = t.line, t.col, strings.Split(name, "."), p.scope()
	if len(p.f.body) > maxStatements {
		return p.fail(t, "more than 131,072 instructions in a kernel")
	}
	if lacks(name) {
		return p.lack(t, name)
	}
	if name == "call" || name == "call.uni" {
		return p.call(s)
	}
	for !p.accept(";") {
		arg, err := p.operand()
		if err != nil {
			return err
		}
		s.args = append(s.args, arg)
		if !p.accept(",") && p.peek().text != ";" {
			return p.unexpected("\",\" or \";\"")
		}
	}
	switch {
	case p.in != nil && s.op[0] == "ret" && len(s.args) == 0:
		s.op, s.args = []string{"bra"}, []operand{{kind: argName, name: returnLabel}}
	case slices.ContainsFunc(s.args, func(a operand) bool { return a.kind == argAddress && a.base.local }):
		if i := slices.Index(s.op, "param"); i > 0 {
			s.op[i] = "local"
		}
	}
	p.f.body = append(p.f.body, s)
	return nil
}

func (p *parser) operand() (operand, error) {
	t := p.peek()
	switch {
	case p.accept("["):
		return p.address()
	case p.accept("{"):
		o := operand{kind: argVector}
		for !p.accept("}") {
			elem, err := p.operand()
			if err != nil {
				return o, err
			}
			o.elems = append(o.elems, elem)
			if !p.accept(",") && p.peek().text != "}" {
				return o, p.unexpected("\",\" or \"}\"")
			}
		}
		return o, nil
	case t.kind == tokNumber || t.text == "-":
		num, err := p.immediate()
		return operand{kind: argNumber, num: num}, err
	case p.accept("_"):
		return operand{kind: argSink}, nil
	case p.accept("!"):
		r, ok := p.lookup(p.peek().text)
		if !ok || r.class != classPred {
			return operand{}, p.unexpected("a predicate")
		}
		p.at++
		return operand{kind: argReg, reg: r, negated: true}, nil
	}
	name, err := p.word()
	if err != nil {
		return operand{}, err
	}
	r, ok := p.lookup(name)
	if !ok {
		if lacksSpecial(name) {
			return operand{}, p.lack(t, name)
		}
		if name[0] == '%' && !isSpecial(name) {
			return operand{}, p.fail(t, name+" is neither declared nor a special register that this package has")
		}
		own, local := p.alias(name)
		return operand{kind: argName, name: own, local: local}, nil
	}
	o := operand{kind: argReg, reg: r}
	if p.accept("|") {
		second, ok := p.lookup(p.peek().text)
		if !ok {
			return o, p.unexpected("a register")
		}
		p.at++
		o.second = &second
	}
	return o, nil
}

// address reads from behind the bracket.
func (p *parser) address() (operand, error) {
	base, err := p.operand()
	if err != nil {
		return base, err
	}
	o := operand{kind: argAddress, base: &base}
	if p.accept("+") {
		num, err := p.immediate()
		if err != nil {
			return o, err
		}
		o.offset = int64(num.bits)
	}
	return o, p.expect("]")
}

func (s *statement) name() string { return strings.Join(s.op, ".") }
