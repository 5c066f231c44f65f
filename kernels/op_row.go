package kernels

// Ops on rows: losses, softmax, normalisation.
const (
	// CrossEntropy: In[0] logits [N,C], In[1] class indices int64 [N]; Out[0]
	// (rank 0) the mean over rows of log(sum(exp(row-m))) - (row[class]-m),
	// with m the row's maximum. A class out of [0,C) is an *Error wrapping
	// ErrIndex that names row and class. N = 0 gives NaN, as in PyTorch. Float.
	//
	// On a device that works on after Run has returned, Run cannot return that
	// error: the loss becomes NaN, and kernels/gpu has the error for who asks its
	// Fault after synchronising. CrossEntropyGrad does the same, with 0 for the
	// row's gradient, so that a step leaves the weights finite.
	CrossEntropy = iota + endProducts
	// CrossEntropyGrad: Out[0] [N,C] = In[0] * (softmax(logits) - onehot)/N
	// with In[0] dloss (rank 0), In[1] logits, In[2] classes. The softmax is
	// taken anew, relative to each row's maximum: a logsumexp kept from the
	// forward op would lose digits to large logits. Float.
	CrossEntropyGrad

	// Softmax: exp(x-m)/sum(exp(x-m)) along dim Attr.Axis of In[0], m the largest
	// element along it; LogSoftmax: its logarithm, (x-m)-log(sum(exp(x-m))). NaN
	// along the dim where one element is NaN or +Inf, or all are -Inf. Out[0] may
	// lie over In[0]. Float.
	Softmax
	LogSoftmax
	// SoftmaxGrad: Out[0] = y*(dy - sum(dy*y)) along Attr.Axis, with In[0] dy and
	// In[1] y, Softmax's result; LogSoftmaxGrad: dy - exp(y)*sum(dy). Out[0] may
	// lie over an input. Float.
	SoftmaxGrad
	LogSoftmaxGrad

	// The normalisations take the mean of each group of elements off them and
	// divide by their deviation: x' = (x-mean)*rstd, rstd = 1/sqrt(var +
	// Attr.Norm.Eps), var the mean of (x-mean)^2, in two passes or by Welford's
	// update. Then comes the affine map y = x'*w + b, where the last inputs w, or w
	// and b, are given. Statistics are float64 for float64, else float32. Those of
	// no elements are NaN.
	//
	// LayerNorm: In[0] x [M,N], w and b [N]; a group is a row. Out[0] y [M,N],
	// Out[1] mean [M], Out[2] rstd [M]. Float.
	LayerNorm
	// LayerNormGrad: In[0] dy, In[1] x [M,N], In[2] mean, In[3] rstd [M], and w [N]
	// if the op had it. Out[0] dx; if given, Out[1] dw and Out[2] db [N]. With g =
	// dy*w, dx = rstd*(g - mean(g) - x'*mean(g*x')), means over the group; dw and
	// db add up dy*x' and dy over all else than w's dim. Float.
	LayerNormGrad
	// RMSNorm: LayerNorm with a mean of 0 and no bias: In[0] x, w; Out[0] y,
	// Out[1] rstd. Float.
	RMSNorm
	// RMSNormGrad: In[0] dy, In[1] x, In[2] rstd, and w; Out[0] dx, and Out[1] dw.
	// dx = rstd*(g - x'*mean(g*x')). Float.
	RMSNormGrad
	// GroupNorm: In[0] x [N,C,S], w and b [C]; a group is C/Attr.Norm.Groups
	// channels of one of N. Out[0] y, Out[1] mean, Out[2] rstd [N,Groups]. Float.
	GroupNorm
	// GroupNormGrad: as LayerNormGrad, with In[2] mean and In[3] rstd [N,Groups].
	GroupNormGrad
	// BatchNorm: In[0] x [N,C,S], w and b [C]; a group is a channel of all of N.
	// Out[0] y, Out[1] mean, Out[2] var [C]. If given, Out[3] and Out[4], running
	// mean and variance [C] as statistics, become (1-m)*old + m*new with m =
	// Attr.Norm.Momentum; the new variance is that of n-1 of n elements. They stay as
	// they are where x is empty. Float.
	BatchNorm
	// BatchNormInfer: BatchNorm by given statistics: In[0] x, In[1] mean, In[2] var
	// [C], w, b; Out[0] y. Float.
	BatchNormInfer
	// BatchNormGrad: In[0] dy, In[1] x [N,C,S], In[2] mean, In[3] var [C], and w.
	// Out[0] dx, Out[1] dw, Out[2] db. With Attr.Norm.Given, for BatchNormInfer,
	// mean and var do not depend on x: dx = rstd*g. Float.
	BatchNormGrad

	// NLL: the negative log-likelihood. In[0] logp [N,C], In[1] int64 classes [N],
	// In[2], if given, weights w [C], else 1. With s = Attr.Loss.Smoothing, Out[0]
	// [N] = -(1-s)*w[class]*logp[class] - s/C*sum(w*logp), and Out[1] [N] =
	// w[class], by whose sum a mean divides. Both are 0 in a row of class
	// Attr.Loss.Ignore; another class out of [0,C) is as for CrossEntropy. With s = 0
	// the sum is left out, so that a -Inf elsewhere does not count. Float.
	NLL
	// NLLGrad: Out[0] [N,C], the gradient of logp: In[0] d [N], In[1] classes, and
	// w: -d*((1-s)*w[class] at the class + s/C*w); 0 in a row that is ignored, or has
	// no class. Float.
	NLLGrad

	endRows
)
