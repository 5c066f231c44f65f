package ptx

import (
	"strconv"
	"strings"
)

// declared is a variable or parameter.
type declared struct {
	token
	name        string
	elem        dtype
	size, align int  // bytes
	open        bool // declared with [] and no size
}

// declaration reads [.align n] .type name [dimensions].
func (p *parser) declaration() (declared, error) {
	d := declared{token: p.peek()}
	for {
		t := p.peek()
		switch {
		case p.accept(".align"):
			n, err := p.integer()
			if err != nil {
				return d, err
			}
			if n == 0 || n&(n-1) != 0 || n > 1<<16 {
				return d, p.fail(t, "alignment is no power of two up to 65,536")
			}
			d.align = n
			continue
		case p.accept(".ptr"), p.accept(".global"), p.accept(".shared"), p.accept(".const"), p.accept(".local"):
			continue // attributes of a pointer parameter
		}
		name, err := p.word()
		if err != nil {
			return d, err
		}
		if elem, ok := dtypes[strings.TrimPrefix(name, ".")]; ok && name[0] == '.' && elem != pred {
			d.elem = elem
			continue
		}
		if name[0] == '.' {
			return d, p.fail(t, strconv.Quote(name)+" is not supported in a declaration")
		}
		d.name, d.token = name, t
		break
	}
	if d.elem == 0 {
		return d, p.fail(d.token, d.name+" has no type")
	}
	d.size = d.elem.bytes()
	d.align = max(d.align, d.size)
	for p.accept("[") {
		if p.accept("]") {
			d.open, d.size = true, 0
			continue
		}
		n, err := p.integer()
		if err != nil {
			return d, err
		}
		if d.size *= n; d.size > maxVariableBytes {
			return d, p.fail(d.token, d.name+" is larger than 64 MiB")
		}
		if err := p.expect("]"); err != nil {
			return d, err
		}
	}
	return d, nil
}

// variable reads a variable from behind its state space on.
func (p *parser) variable(space string) error {
	for {
		d, err := p.declaration()
		if err != nil {
			return err
		}
		if err := p.place(space, d); err != nil {
			return err
		}
		if p.accept(";") {
			return nil
		}
		if err := p.expect(","); err != nil {
			return err
		}
	}
}

// place gives a variable its address. Shared variables of the module are laid
// out once for all kernels, those of a kernel behind them.
func (p *parser) place(space string, d declared) error {
	m := p.module
	names := m.symbols
	if p.f != nil && (space == ".local" || space == ".shared") {
		names = p.f.names
	}
	if p.in != nil && !strings.Contains(d.name, " ") { // not made up yet
		// Local variables are there once for each call, shared ones once.
		own := p.in.scope + d.name
		if space == ".shared" {
			own = p.in.name + " " + d.name
		}
		p.aliases[len(p.aliases)-1][d.name] = own
		if d.name = own; names[own].size == d.size && space == ".shared" {
			return nil
		}
	}
	if _, ok := names[d.name]; ok {
		return p.fail(d.token, "a second variable named "+d.name)
	}
	if d.open && space != ".shared" {
		return p.fail(d.token, d.name+" has no size")
	}
	switch space {
	case ".shared":
		names[d.name] = symbol{0, d.size}
		m.shared = append(m.shared, sharedVariable{p.f, d})
	case ".local":
		k := p.f.kernel
		offset := align(k.local, d.align)
		if k.local = offset + d.size; k.local > maxLocalBytes {
			return p.fail(d.token, "more than 512 KiB of local memory")
		}
		names[d.name] = symbol{localWindow + uint64(offset), d.size}
	default:
		offset := align(len(m.data), max(d.align, 16))
		if offset+d.size > maxVariableBytes {
			return p.fail(d.token, "more than 64 MiB of variables")
		}
		m.data = append(m.data, make([]byte, offset+d.size-len(m.data))...)
		names[d.name] = symbol{m.base + uint64(offset), d.size}
		if space == ".const" {
			m.constants = align(m.constants, d.align) + d.size
		}
		if p.accept("=") {
			_, err := p.initializer(m.data[offset:], d)
			return err
		}
	}
	return nil
}

// initializer fills data with a value or a nested list of them, and returns
// how many bytes it filled.
func (p *parser) initializer(data []byte, d declared) (int, error) {
	if p.accept("{") {
		n := 0
		for !p.accept("}") {
			used, err := p.initializer(data[n:], d)
			if err != nil {
				return 0, err
			}
			n += used
			if !p.accept(",") && p.peek().text != "}" {
				return 0, p.unexpected("\",\" or \"}\"")
			}
		}
		return n, nil
	}
	at := p.peek()
	v, err := p.immediate()
	if err != nil {
		return 0, err
	}
	size := d.elem.bytes()
	if len(data) < size {
		return 0, p.fail(at, d.name+" has more values than room")
	}
	bits := v.as(d.elem)
	for i := range size {
		data[i] = byte(bits >> (8 * i))
	}
	return size, nil
}
