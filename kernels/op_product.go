package kernels

// Products of matrices, windows over images, attention.
const (
	// MatMul: Out[0] [...,M,N] = act(In[0] [...,M,K] x In[1] [...,K,N] + In[2]
	// [...,M,N]), of rank 2 to 8 each, with the same dims before the last two: they
	// count products. An input that several products use has stride 0 there.
	// In[2], the bias, may be left out, and is usually broadcast along M.
	// act is Attr.Activation. With Attr.Accumulate the product is added to
	// Out[0] (no bias, no activation). A transposed operand is one with swapped
	// strides. The order of the sum over K does not depend on the number of
	// threads; K = 0 gives act(bias). Float.
	MatMul = iota + endReductions

	// Conv: In[0] x [N,C,H,W], In[1] w [O,C/groups,KH,KW], In[2] the bias [O],
	// which may be left out; Out[0] y [N,O,OH,OW] with, by Attr.Conv,
	//
	//	y[n,o,i,j] = bias[o] + sum over c,k,l of
	//	    w[o,c,k,l] * x[n, group*C/groups + c, i*stride-padding+k*dilation, ...]
	//
	// where group is that of o, O/groups to each. What lies outside of x is 0;
	// where that meets a weight that is no finite number the result may or may not
	// become NaN. OH is as [Windows] says, and at least 1. The order of the sum
	// does not depend on the number of threads. Summing nothing gives the bias.
	// Float.
	Conv
	// ConvGradInput: Out[0] dx [N,C,H,W] from In[0] dy [N,O,OH,OW] and In[1] w.
	// Float.
	ConvGradInput
	// ConvGradWeight: Out[0] dw [O,C/groups,KH,KW] from In[0] dy [N,O,OH,OW] and
	// In[1] x. Float.
	ConvGradWeight

	// MaxPool: In[0] x [N,C,H,W]; Out[0] [N,C,OH,OW] the largest element of each
	// window by Attr.Pool, Out[1] int64 its place h*W+w. Of equal elements the
	// first counts, of several NaN, which beat all else, the last, as in PyTorch.
	// Padding counts as -Inf and is never chosen. A window without an element,
	// which dilation can make, gives -Inf and the place -1, where PyTorch has one
	// outside of the plane. H and W are not 0. Float.
	MaxPool
	// MaxPoolGrad: Out[0] dx [N,C,H,W] is the sum of In[0] dy [N,C,OH,OW] over the
	// windows that chose the element, by MaxPool's indices In[1]. Other indices
	// make a result without meaning. Float.
	MaxPoolGrad
	// AvgPool: In[0] x [N,C,H,W]; Out[0] [N,C,OH,OW] the sum of each window by
	// Attr.Pool, over the number of its elements that lie in x or, with
	// CountIncludePad, in x and its padding; beyond that nothing counts. Float.
	AvgPool
	// AvgPoolGrad: Out[0] dx [N,C,H,W] from In[0] dy. Float.
	AvgPoolGrad
	// AdaptiveAvgPool: In[0] x [N,C,H,W]; Out[0] [N,C,OH,OW] the means over OH by
	// OW bins, of which bin i has the rows from i*H/OH rounded down to (i+1)*H/OH
	// rounded up, columns alike. Float.
	AdaptiveAvgPool
	// AdaptiveAvgPoolGrad: Out[0] dx [N,C,H,W] from In[0] dy. Float.
	AdaptiveAvgPoolGrad

	// Attention: Out[0] o [B,H,L,E] = softmax(score) v over the keys, where a
	// score is Attr.Attention.Scale times the product of a query of In[0] q
	// [B,H,L,D] and a key of In[1] k [B,G,S,D], and In[2] v is [B,G,S,E]. G
	// divides H: each head of k and v serves H/G heads of q in a row. In[3], which
	// may be left out, is a mask [B,H,L,S]: of q's dtype, to be added to the
	// score, or Bool, true where the key is seen. With Attr.Attention.Causal query
	// i sees the keys 0 to i, counted from the first also where L and S differ,
	// as by PyTorch's is_causal. Out[1] [B,H,L], Float64 for Float64 and Float32
	// for the others, is the logarithm of the sum of exp(score).
	//
	// A query that sees no key, or whose scores are all -Inf, gives 0 and a
	// logarithm of -Inf; PyTorch 2.15 gives 0 too. A score of NaN or +Inf makes
	// its row NaN, where PyTorch's kernel for the CPU hides a NaN behind 0. A key
	// that is not seen is left out, or multiplied by 0: the v of it must be finite.
	// No body stores the scores: work space is linear in L and in S. Float.
	Attention
	// AttentionGrad: Out[0] dq, Out[1] dk and Out[2] dv, of the dims of q, k and
	// v, from In[0] do, In[1] q, In[2] k, In[3] v, Attention's results In[4] o and
	// In[5], and the mask In[6] if there was one. With p = exp(score - In[5]), 0
	// where In[5] is -Inf, and ds = p*(do v' - sum(do*o)): dq = Scale*ds k, dk =
	// Scale*ds' q, dv = p' do, the last two added up over the heads that share k
	// and v. The scores are made anew, and no mask gets a gradient. Float.
	AttentionGrad

	endProducts
)
