package ptx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// What an instruction does to the flow of a warp.
const (
	flowNext    = iota // run for the active lanes, then the next one
	flowBranch         // active lanes go to target
	flowExit           // active lanes end
	flowBarrier        // active lanes wait for the block
	flowSync           // waits for the lanes in register members, then runs
	flowTrap
)

// inst is one instruction as it runs. A statement may become several, which
// then have its guard and line.
type inst struct {
	flow    uint8
	negated bool
	aligned bool  // of a barrier: the lanes of a warp must come together
	guard   int32 // predicate, -1 for none
	line    int32
	target  int32    // of a branch
	members int32    // 32-bit register with the lanes of a flowSync
	barrier *barrier // of a flowBarrier
	run     func(w *warp, mask uint32) error

	// The commonest instructions are done by these where all lanes are active.
	all32 op32
	all64 op64
	regs  [4]int32 // the result's and the sources'
}

// decoder translates one kernel.
type decoder struct {
	m        *Module
	k        *Kernel
	s        *statement // being translated
	symbols  map[string]symbol
	consts   map[constant]int
	specials map[string]int
	jumps    []jump
	carries  int // the predicate of .cc, plus 1
}

// jump is a branch whose target is not known yet.
type jump struct {
	code  int
	label string
	s     *statement
}

func decode(m *Module, f *function) error {
	d := &decoder{m: m, k: f.kernel, consts: map[constant]int{}, specials: map[string]int{}}
	d.k.registers = f.registers
	d.k.declared = f.registers[class32] + 2*f.registers[class64]
	d.k.idle = new(sync.Pool)
	d.symbols = map[string]symbol{}
	for _, from := range []map[string]symbol{m.symbols, f.names, m.placeShared(f)} {
		for name, s := range from {
			d.symbols[name] = s
		}
	}
	if d.k.shared > maxDeclaredShared {
		return m.fail(f.at.line, f.at.col, fmt.Sprintf("%d bytes of shared memory; a kernel may declare %d", d.k.shared, maxDeclaredShared))
	}
	starts := make([]int, len(f.body)+1)
	for i := range f.body {
		d.s = &f.body[i]
		starts[i] = len(d.k.code)
		if err := d.statement(); err != nil {
			return err
		}
	}
	starts[len(f.body)] = len(d.k.code)
	// Falling off the end is a return.
	line := 0
	if d.s != nil {
		line = d.s.line
	}
	d.k.code = append(d.k.code, inst{flow: flowExit, guard: -1, line: int32(line)})
	for _, j := range d.jumps {
		at, ok := f.labels[j.s.scope+j.label]
		if !ok {
			d.s = j.s
			return d.refuse("no label %s in this kernel", j.label)
		}
		d.k.code[j.code].target = int32(starts[at])
	}
	return nil
}

// families has a translator for each first part of a mnemonic. What it does
// not have is arithmetic, whose tables are in arithmetic.go.
var families map[string]func(*decoder) error

func init() {
	families = map[string]func(*decoder) error{
		"bra": (*decoder).branch, "ret": (*decoder).exit, "exit": (*decoder).exit, "trap": (*decoder).trap,
		"bar": (*decoder).bar, "barrier": (*decoder).bar, "nanosleep": (*decoder).hint, "prefetch": (*decoder).hint, "prefetchu": (*decoder).hint, "membar": (*decoder).fence, "fence": (*decoder).fence,
		"shfl": (*decoder).shuffle, "vote": (*decoder).vote, "match": (*decoder).match, "activemask": (*decoder).activeMask,
		"redux": (*decoder).reduce,
		"mov":   (*decoder).move, "cvta": (*decoder).convertAddress, "cvt": (*decoder).convert,
		"ld": (*decoder).load, "ldu": (*decoder).load, "st": (*decoder).store,
		"atom": (*decoder).atomicOrReduction, "red": (*decoder).atomicOrReduction,
		"setp": (*decoder).setPredicate, "set": (*decoder).set, "selp": (*decoder).selectPredicate,
		"bfi": (*decoder).insertBits, "lop3": (*decoder).lookup3, "prmt": (*decoder).permuteBytes, "bfind": (*decoder).findBit,
		"slct": (*decoder).selectBySign, "isspacep": (*decoder).isSpace,
		"addc": (*decoder).carrying, "subc": (*decoder).carrying, "madc": (*decoder).carrying,
		"cp": (*decoder).copyAsync, "ldmatrix": (*decoder).loadMatrix, "mma": (*decoder).multiply,
	}
}

func (d *decoder) statement() error {
	if translate := families[d.s.op[0]]; translate != nil {
		return translate(d)
	}
	if slices.Contains(d.s.op, "cc") {
		return d.carrying()
	}
	return d.arithmetic()
}

// refuse is the error of a statement that cannot be translated.
func (d *decoder) refuse(format string, args ...any) error {
	return d.m.fail(d.s.line, d.s.col, fmt.Sprintf(format, args...))
}

func (d *decoder) unsupported() error {
	if lacksParts(d.s.op) {
		return d.m.lack(d.s.line, d.s.col, d.s.name())
	}
	return d.refuse("%s is not supported", d.s.name())
}

// take returns the statement's modifiers and type. The mnemonic ends with its
// type, and what stands between must be one of the modifiers allowed.
func (d *decoder) take(allowed string) (has map[string]bool, t dtype, err error) {
	op := d.s.op
	t, ok := dtypes[op[len(op)-1]]
	if !ok || len(op) < 2 || t == f16 {
		return nil, 0, d.unsupported()
	}
	has = map[string]bool{}
	words := strings.Fields(allowed)
next:
	for _, part := range op[1 : len(op)-1] {
		for _, w := range words {
			if w == part {
				has[part] = true
				continue next
			}
		}
		return nil, 0, d.unsupported()
	}
	return has, t, nil
}

// arity checks the number of operands.
func (d *decoder) arity(least, most int) error {
	if n := len(d.s.args); n < least || n > most {
		return d.refuse("%s with %d operands", d.s.name(), n)
	}
	return nil
}

// emit appends an instruction of the statement.
func (d *decoder) emit(run func(w *warp, mask uint32) error) *inst {
	in := inst{guard: -1, line: int32(d.s.line), run: run, negated: d.s.negated}
	if d.s.guard != nil {
		in.guard = int32(d.s.guard.index)
	}
	d.k.code = append(d.k.code, in)
	return &d.k.code[len(d.k.code)-1]
}

// temp makes a register that no name has.
func (d *decoder) temp(c class) int {
	d.k.registers[c]++
	return d.k.registers[c] - 1
}

// constant returns a register that always holds value.
func (d *decoder) constant(c class, value uint64) int {
	if c == class32 {
		value = uint64(uint32(value))
	}
	key := constant{reg{class: c}, value}
	if at, ok := d.consts[key]; ok {
		return at
	}
	at := d.temp(c)
	d.consts[key] = at
	d.k.constants = append(d.k.constants, constant{reg{class: c, index: at}, value})
	return at
}

// special returns the register of a special register.
func (d *decoder) special(name string) int {
	at, ok := d.specials[name]
	if !ok {
		at = d.temp(class32)
		d.specials[name] = at
		d.k.specials = append(d.k.specials, special{at, name})
	}
	return at
}

// source returns the register of an operand that is read as a value of type t.
// The register must be as wide as the type.
func (d *decoder) source(a operand, t dtype) (int, error) {
	if a.kind == argNumber && (t == f16 || t.kind() >= kindHalves) {
		return 0, d.refuse("%s takes no numbers", d.s.name())
	}
	if a.kind == argReg && !a.reg.fits(t) {
		return 0, d.misfit(a.reg, t)
	}
	return d.loose(a, t)
}

func (d *decoder) misfit(r reg, t dtype) error {
	if r.width == t.bits() {
		return d.refuse("%s cannot take an integer's register for a float's, nor the other way round", d.s.name())
	}
	return d.refuse("a register of %d bits where %s needs %d", r.width, d.s.name(), t.bits())
}

// loose is source for instructions that may read a wider register: the rest of
// it is ignored, in files of 64 bits by an instruction of its own.
func (d *decoder) loose(a operand, t dtype) (int, error) {
	switch {
	case a.negated && t == pred:
		p := d.temp(classPred)
		d.emit(runPred(tablePred["not.pred"].f, p, a.reg.index, a.reg.index))
		return p, nil
	case a.kind == argReg && a.second != nil:
		return 0, d.refuse("a pair of registers has no place here")
	case a.kind == argReg && a.reg.class == t.class():
		if a.reg.width < t.bits() {
			return 0, d.misfit(a.reg, t)
		}
		return a.reg.index, nil
	case a.kind == argReg && a.reg.class == class64 && t.class() == class32:
		return d.truncate(a.reg.index), nil
	case a.kind == argNumber && t == pred:
		return d.constant(classPred, -(a.num.as(u32) & 1)), nil
	case a.kind == argNumber:
		value := a.num.as(t)
		if t.bits() < 32 {
			value &= 1<<t.bits() - 1
		}
		return d.constant(t.class(), value), nil
	case a.kind == argName && isSpecial(a.name):
		if t.bits() != 32 {
			return 0, d.refuse("%s has 32 bits", a.name)
		}
		return d.special(a.name), nil
	case a.kind == argName && t != pred:
		s, ok := d.symbols[a.name]
		if !ok {
			return 0, d.refuse("no variable or parameter is named %s", a.name)
		}
		return d.constant(t.class(), s.address), nil
	}
	return 0, d.refuse("an operand that %s cannot read", d.s.name())
}

// target returns the register that an operand of type t is written to.
func (d *decoder) target(a operand, t dtype) (int, error) {
	switch {
	case a.kind == argSink:
		return d.temp(t.class()), nil
	case a.kind != argReg || a.second != nil || a.negated:
		return 0, d.refuse("%s must write to a register", d.s.name())
	case !a.reg.fits(t):
		return 0, d.misfit(a.reg, t)
	}
	return a.reg.index, nil
}

// truncate and widen copy a register into a temporary of the other file.
func (d *decoder) truncate(from int) int {
	to := d.temp(class32)
	d.emit(narrowing(truncateLanes, to, from))
	return to
}

func (d *decoder) widen(from int) int {
	to := d.temp(class64)
	d.emit(widening(zeroExtend, to, from, from, to))
	return to
}

func (d *decoder) branch() error {
	if n := d.s.name(); n != "bra" && n != "bra.uni" {
		return d.unsupported()
	}
	if len(d.s.args) != 1 || d.s.args[0].kind != argName {
		return d.refuse("a branch needs a label")
	}
	in := d.emit(nil)
	in.flow = flowBranch
	d.jumps = append(d.jumps, jump{len(d.k.code) - 1, d.s.args[0].name, d.s})
	return nil
}

func (d *decoder) exit() error {
	if n := d.s.name(); n != "ret" && n != "ret.uni" && n != "exit" {
		return d.unsupported()
	}
	d.emit(nil).flow = flowExit
	return d.arity(0, 0)
}

func (d *decoder) trap() error {
	d.emit(nil).flow = flowTrap
	return d.arity(0, 0)
}

// fence needs no work: the accesses of a goroutine are seen in their order.
// Between the goroutines of Spread, atomics are what orders.
func (d *decoder) fence() error {
	switch d.s.name() {
	case "membar.cta", "membar.gl", "membar.sys":
	case "fence.acq_rel.cta", "fence.acq_rel.gpu", "fence.acq_rel.sys", "fence.sc.cta", "fence.sc.gpu", "fence.sc.sys":
		if err := d.needs(600, 70); err != nil {
			return err
		}
	default:
		return d.unsupported()
	}
	return d.arity(0, 0)
}

// hint is an instruction that changes nothing here.
func (d *decoder) hint() error {
	if err := d.arity(1, 1); err != nil {
		return err
	}
	switch d.s.name() {
	case "nanosleep.u32":
		if err := d.needs(603, 70); err != nil {
			return err
		}
		_, err := d.source(d.s.args[0], u32)
		return err
	case "prefetch.global.L1", "prefetch.global.L2", "prefetch.local.L1", "prefetch.local.L2", "prefetch.L1", "prefetch.L2", "prefetchu.L1":
		if a := d.s.args[0]; a.kind == argAddress && (a.base.kind != argReg || a.base.reg.class == class64) {
			return nil
		}
	}
	return d.unsupported()
}

// hintNeeds says what a module needs for the modifiers of a load or store.
func (d *decoder) hintNeeds(has map[string]bool) error {
	version, sm := 0, 0
	for part := range has {
		switch {
		case part == "relaxed", part == "acquire", part == "release", part == "weak":
			version, sm = max(version, 600), max(sm, 70)
		case part == "L2::64B", part == "L2::128B":
			version, sm = 704, max(sm, 75)
		case part == "L2::256B":
			version, sm = 704, 80
		case strings.HasPrefix(part, "L1::"):
			version, sm = 704, max(sm, 70)
		}
	}
	if version == 704 && (has["shared"] || has["local"] || has["param"] || has["const"]) {
		return d.unsupported()
	}
	return d.needs(version, sm)
}

// needs refuses what the module's header does not allow: a driver would.
func (d *decoder) needs(version, sm int) error {
	major, minor, _ := strings.Cut(d.m.Version, ".")
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	have, _ := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(d.m.Target, "sm_"), "af"))
	if a*100+b < version || have < sm {
		return d.refuse("%s needs PTX %d.%d and sm_%d; the module says %s and %s",
			d.s.name(), version/100, version%100, sm, d.m.Version, d.m.Target)
	}
	return nil
}
