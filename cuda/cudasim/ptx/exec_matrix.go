package ptx

import (
	"encoding/binary"
	"slices"
)

// together makes an instruction that all 32 lanes run at once. A device does
// something undefined where some have ended; this is an error.
func (d *decoder) together(run runner) error {
	line := int32(d.s.line)
	all := operand{kind: argNumber, num: number{bits: full}}
	return d.members(all, func(w *warp, mask uint32) error {
		if mask != full {
			return &SyncError{w.place(line, lowest(mask)), full &^ mask, "lanes that have ended, or never were, have a part in an instruction of the whole warp"}
		}
		return run(w, mask)
	})
}

// registersOf returns the registers of a vector operand of n values of type t.
func (d *decoder) registersOf(a operand, n int, t dtype, written bool) ([]int, error) {
	if a.kind != argVector || len(a.elems) != n {
		return nil, d.refuse("%s needs %d registers in braces", d.s.name(), n)
	}
	find := d.source
	if written {
		find = d.target
	}
	regs := make([]int, n)
	for i, e := range a.elems {
		var err error
		if regs[i], err = find(e, t); err != nil {
			return nil, err
		}
	}
	return regs, nil
}

// loadMatrix is ldmatrix.sync.aligned.m8n8.num[.trans].shared.b16 {d...}, [a]:
// 1, 2 or 4 matrices of 8 by 8 elements of 2 bytes. Lane 8j+i has the address of
// row i of matrix j, and gets two neighbours in a row of each matrix, or in a
// column if it is transposed.
func (d *decoder) loadMatrix() error {
	op := d.s.op[1:]
	if len(op) < 5 || !slices.Equal(op[:3], []string{"sync", "aligned", "m8n8"}) || op[len(op)-1] != "b16" {
		return d.unsupported()
	}
	n, ok := map[string]int{"x1": 1, "x2": 2, "x4": 4}[op[3]]
	if !ok {
		return d.unsupported()
	}
	has, version := map[string]bool{}, 605
	for _, part := range op[4 : len(op)-1] {
		if part == "shared::cta" {
			part, version = "shared", 708
		}
		if has[part] || part != "trans" && part != "shared" {
			return d.unsupported()
		}
		has[part] = true
	}
	if err := d.needs(version, 75); err != nil {
		return err
	}
	if err := d.arity(2, 2); err != nil {
		return err
	}
	m, _, err := d.memory(map[string]bool{"shared": has["shared"]}, b16, d.s.args[1])
	if err != nil {
		return err
	}
	m.size, m.uniform = 16, false
	to, err := d.registersOf(d.s.args[0], n, b32, true)
	if err != nil {
		return err
	}
	return d.together(func(w *warp, _ uint32) error { return w.loadMatrix(&m, to, has["trans"]) })
}

func (w *warp) loadMatrix(m *access, to []int, transposed bool) error {
	var rows [warpSize][]byte
	for lane := range 8 * len(to) {
		b, err := w.bytes(m, lane)
		if err != nil {
			return err
		}
		rows[lane] = b
	}
	for j, r := range to {
		matrix := rows[8*j:]
		for lane := range warpSize {
			i, k := lane/4, lane%4*2
			if !transposed {
				w.t32[lane] = binary.LittleEndian.Uint32(matrix[i][2*k:])
				continue
			}
			low, high := binary.LittleEndian.Uint16(matrix[k][2*i:]), binary.LittleEndian.Uint16(matrix[k+1][2*i:])
			w.t32[lane] = uint32(low) | uint32(high)<<16
		}
		w.r32[r] = w.t32
	}
	return nil
}
