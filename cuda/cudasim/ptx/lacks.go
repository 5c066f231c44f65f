package ptx

import (
	"slices"
	"strconv"
	"strings"
)

// absent begins the names of instructions that PTX has and the interpreter has
// not. To say so is not to say that an instruction is right.
var absent = strings.Fields(`
	alloca applypriority barrier.cluster brkpt brx cp.async.bulk cp.async.mbarrier cp.reduce createpolicy
	bmsk discard elect fence.mbarrier_init fence.proxy getctarank griddepcontrol isspacep.shared::cluster istypep
	ld.async mapa mbarrier membar.proxy mma.sp multimem movmatrix pmevent red.async setmaxnreg
	st.async st.bulk stackrestore stacksave stmatrix szext suld suq sured sust tcgen05 tensormap tex tld4 txq
	vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4
	vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma`)

// absentSpecials are special registers of the same kind, without what stands
// behind a dot.
var absentSpecials = strings.Fields(`
	%aggr_smem_size %clock %clock64 %clock_hi %cluster_ctaid %cluster_ctarank %cluster_nctaid %cluster_nctarank
	%clusterid %current_graph_exec %dynamic_smem_size %globaltimer %globaltimer_hi %globaltimer_lo %gridid
	%is_explicit_cluster %nclusterid %nsmid %nwarpid %smid %total_smem_size`)

// absentDirectives are directives of the same kind.
var absentDirectives = strings.Fields(`
	.alias .blocksareclusters .branchtargets .callprototype .calltargets .explicitcluster .maxclusterrank
	.maxnctapersm .reqnctapercluster .samplerref .surfref .tex .texref`)

// absentParts are modifiers and types of the same kind, of instructions that the
// interpreter has without them.
var absentParts = strings.Fields("b1 b128 e4m3 e4m3x2 e5m2 e5m2x2 s4 satfinite u4 xorsign")

// lacks reports whether an instruction is one that the interpreter has not.
func lacks(name string) bool {
	return slices.ContainsFunc(absent, func(begin string) bool {
		return name == begin || strings.HasPrefix(name, begin+".")
	})
}

func lacksSpecial(name string) bool {
	register, _, _ := strings.Cut(name, ".")
	return !isSpecial(name) && slices.Contains(absentSpecials, register)
}

// lacksParts is lacks for an instruction that the decoder has found too much in.
func lacksParts(op []string) bool {
	return slices.ContainsFunc(op, func(part string) bool {
		return slices.Contains(absentParts, part) || op[0] == "mma" && slices.Contains([]string{"s8", "u8", "f64"}, part)
	})
}

// lack is the error of what those name.
func (m *Module) lack(line, col int, name string) error {
	err := m.fail(line, col, name+" is PTX that this interpreter does not run")
	err.Lacks = true
	return err
}

func (p *parser) lack(at token, name string) error { return p.module.lack(at.line, at.col, name) }

// unknown is the error of what begins no statement.
func (p *parser) unknown(at token, reason string) error {
	if slices.Contains(absentDirectives, at.text) {
		return p.lack(at, at.text)
	}
	return p.fail(at, strconv.Quote(at.text)+reason)
}
