package ptx

import (
	"slices"
	"strconv"
	"strings"
)

// parser reads a module's directives; instructions are in parse_body.go.
type parser struct {
	module    *Module
	tokens    []token
	at        int
	functions []*function

	f      *function        // being read
	scopes []map[string]reg // innermost last

	procedures map[string]*procedure
	in         *inlined            // nil in the body of the kernel itself
	aliases    []map[string]string // names of variables of the body, innermost last
	made       int                 // names made up so far
}

// function is an entry as it was parsed.
type function struct {
	kernel    *Kernel
	at        token // its name
	body      []statement
	labels    map[string]int    // to an index of body
	names     map[string]symbol // its parameters and variables
	registers [numClasses]int
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != tokEnd {
		p.at++
	}
	return t
}

// accept takes the next token if it has this text.
func (p *parser) accept(text string) bool {
	if t := p.peek(); t.text != text || t.kind == tokString || t.kind == tokEnd {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return p.unexpected(strconv.Quote(text))
	}
	return nil
}

func (p *parser) unexpected(wanted string) error {
	return p.fail(p.peek(), wanted+" expected, not "+strconv.Quote(p.peek().text))
}

func (p *parser) fail(at token, reason string) error {
	return p.module.fail(at.line, at.col, reason)
}

func (m *Module) fail(line, col int, reason string) *ParseError {
	name := ""
	if names := m.Kernels(); len(names) > 0 {
		name = names[0]
	}
	return &ParseError{Module: name, Line: line, Column: col, Text: lineText(m.lines, line), Reason: reason}
}

func (p *parser) word() (string, error) {
	if p.peek().kind != tokWord {
		return "", p.unexpected("a name")
	}
	return p.next().text, nil
}

func (p *parser) integer() (int, error) {
	t := p.peek()
	if t.kind != tokNumber || t.num.float != 0 || t.num.bits > 1<<31-1 {
		return 0, p.unexpected("a whole number below 2^31")
	}
	p.at++
	return int(t.num.bits), nil
}

func (p *parser) parseModule() error {
	if err := p.header(); err != nil {
		return err
	}
	if err := p.findProcedures(); err != nil {
		return err
	}
	for p.peek().kind != tokEnd {
		t := p.next()
		var err error
		switch t.text {
		case ".visible", ".extern", ".weak", ".common":
			// Every name is visible here. What is .extern has no size or no body,
			// and is refused where that matters.
		case ".entry":
			err = p.entry()
		case ".global", ".const", ".shared":
			err = p.variable(t.text)
		case ".func":
			err = p.procedure()
		default:
			err = p.unknown(t, " is no directive that this package knows")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) header() error {
	if err := p.expect(".version"); err != nil {
		return err
	}
	version := p.next()
	major, minor, _ := strings.Cut(version.text, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if errA != nil || errB != nil || a*100+b < 604 || a > 8 {
		return p.fail(version, "PTX version outside of 6.4 to 8.x")
	}
	p.module.Version = version.text
	if err := p.expect(".target"); err != nil {
		return err
	}
	for {
		t := p.peek()
		name, err := p.word()
		if err != nil {
			return err
		}
		switch sm := strings.TrimPrefix(name, "sm_"); {
		case sm != name:
			p.module.Target = name
		case name != "debug" && name != "texmode_independent":
			return p.fail(t, "target "+strconv.Quote(name)+" is not supported")
		}
		if !p.accept(",") {
			break
		}
	}
	if p.accept(".address_size") {
		if t := p.next(); t.text != "64" {
			return p.fail(t, "addresses have 64 bits here")
		}
	}
	return nil
}

// entry reads a kernel from its name on.
func (p *parser) entry() error {
	at := p.peek()
	name, err := p.word()
	if err != nil {
		return err
	}
	if p.module.kernels[name] != nil {
		return p.fail(at, "a second kernel named "+name)
	}
	k := &Kernel{Name: name, module: p.module, workers: 1}
	p.module.kernels[name] = k
	p.f = &function{kernel: k, at: at, labels: map[string]int{}, names: map[string]symbol{}}
	p.scopes, p.aliases = []map[string]reg{{}}, []map[string]string{{}}
	if p.accept("(") {
		for !p.accept(")") {
			if err := p.parameter(); err != nil {
				return err
			}
			if !p.accept(",") && p.peek().text != ")" {
				return p.unexpected("\",\" or \")\"")
			}
		}
	}
	if err := p.limits(); err != nil {
		return err
	}
	if err := p.expect("{"); err != nil {
		return err
	}
	if err := p.block(); err != nil {
		return err
	}
	p.functions = append(p.functions, p.f)
	p.f = nil
	return nil
}

func (p *parser) parameter() error {
	if err := p.expect(".param"); err != nil {
		return err
	}
	d, err := p.declaration()
	if err != nil {
		return err
	}
	k := p.f.kernel
	offset := align(k.paramBytes, d.align)
	k.params = append(k.params, Param{d.name, offset, d.size, d.align})
	if k.paramBytes = offset + d.size; k.paramBytes > maxParamBytes {
		return p.fail(d.token, "more than 4,096 bytes of parameters")
	}
	p.f.names[d.name] = symbol{paramWindow + uint64(offset), d.size}
	return nil
}

// limits reads what stands between the parameters and the body.
func (p *parser) limits() error {
	for {
		t := p.peek()
		switch t.text {
		case ".maxntid", ".reqntid", ".minnctapersm", ".maxnreg":
			p.next()
			d := [3]int{1, 1, 1}
			for i := range d {
				n, err := p.integer()
				if err != nil {
					return err
				}
				d[i] = n
				if !p.accept(",") {
					break
				}
			}
			switch t.text {
			case ".maxntid":
				p.f.kernel.maxThreads = d[0] * d[1] * d[2]
			case ".reqntid":
				p.f.kernel.reqThreads = Dim3{d[0], d[1], d[2]}
			}
		case ".pragma":
			if err := p.pragma(); err != nil {
				return err
			}
		default:
			if slices.Contains(absentDirectives, t.text) {
				return p.lack(t, t.text)
			}
			return nil
		}
	}
}

func (p *parser) pragma() error {
	p.next()
	if t := p.next(); t.kind != tokString {
		return p.fail(t, "a string expected after .pragma")
	}
	return p.expect(";")
}

// immediate reads a number with its sign.
func (p *parser) immediate() (number, error) {
	minus := p.accept("-")
	t := p.peek()
	if t.kind != tokNumber {
		return number{}, p.unexpected("a number")
	}
	p.at++
	if minus {
		if t.num.float != 0 {
			t.num.bits ^= 1 << (t.num.float - 1)
		} else {
			t.num.bits = -t.num.bits
		}
	}
	return t.num, nil
}
