package kernels

// Reductions, scans, sorting, and elements by their indices.
const (
	// Sum adds up In[0] over the dims that are 1 in Out[0] and larger in
	// In[0] (same rank), times Attr.Alpha; with Attr.Accumulate it adds to
	// Out[0]. Float32 sums are pairwise or blocked, so that the relative error
	// stays near 1e-6 at 1e7 elements; the order does not depend on the number
	// of threads. Summing nothing gives 0. Float; or Out[0] Int64 and In[0] Int
	// or Bool: the sum wraps, and Alpha is not looked at.
	Sum = iota + endElementwise
	// Prod multiplies In[0] over the dims that are 1 in Out[0]; nothing gives 1.
	// Products of float32 are kept in float64 on the way. Types as for Sum.
	Prod
	// Max, Min: the largest and smallest of In[0] over the dims that are 1 in
	// Out[0]; NaN if one is NaN. Of 0 and -0 it is either, as in PyTorch. Reducing
	// nothing is an error. Number.
	Max
	Min
	// MaxGrad, of Max and of Min: Out[0] has x's dims; In[0] = dy and In[2] =
	// the op's result have dims of 1 where x was reduced, In[1] = x. dy is shared
	// out evenly among the elements that equal the result (NaN equals NaN); all
	// others get 0. Float.
	MaxGrad
	// ArgMax, ArgMin: Out[0] int64, 1 at dim Attr.Axis: the first index of the
	// largest or smallest element of In[0] (Number) along it; NaN counts as
	// the largest for ArgMax and as the smallest for ArgMin. Reducing nothing is
	// an error.
	ArgMax
	ArgMin
	// Any, All: Out[0] Bool: whether one or every element of In[0], of any dtype,
	// over the dims that are 1 in Out[0] is not 0; NaN is not 0. Of nothing Any
	// is false and All true.
	Any
	All
	// Var: Out[0] is the variance of In[0] over the dims that are 1 in Out[0]
	// and Out[1], of the same dims, the mean. The variance is the sum of the
	// squared differences from the mean, by two passes or what is as exact, over
	// n - Attr.Correction or, where that is negative, 0. Of nothing both are NaN,
	// whatever the correction.
	// Float.
	Var
	// LogSumExp: log(sum(exp(x))) over the dims that are 1 in Out[0], relative to
	// the largest x, so that nothing overflows. Nothing, or -Inf alone, gives
	// -Inf; Inf gives Inf. Float.
	LogSumExp
	// Norm: (sum of |x|^p)^(1/p) over the dims that are 1 in Out[0], p being
	// Attr.Alpha, a finite number; with p = 0 how many elements are not 0. Nothing
	// gives 0, or Inf where p < 0. Powers of float32 are kept in float64. Float.
	Norm

	// CumSum, CumProd: Out[0] has In[0]'s dims: along Attr.Axis the sums or
	// products of all elements up to and with each. Float, kept in float64 on the
	// way; or Out[0] Int64 and In[0] Int or Bool, which wraps.
	CumSum
	CumProd
	// CumProdGrad: the gradient of CumProd along Attr.Axis, with In[0] = dy,
	// In[1] = x and In[2] = CumProd's result, all of one dims. It divides by
	// nothing, so that zeros are no exception. Float.
	CumProdGrad

	// Sort: Out[0] has the elements of In[0] along Attr.Axis in rising order, or
	// in falling order with Attr.Descending, and Out[1] (int64) their indices.
	// Equal elements stay in order, -0 and 0 being equal; NaN counts as the
	// largest. The outputs have In[0]'s dims or are shorter along the axis: then
	// they have what comes first. The axis has less than 2^31 elements. Any dtype.
	Sort
	// SortGrad: Out[0] is 0, but along Attr.Axis at the indices In[1] (int64) it
	// is In[0]: the gradient of Sort, and of an op that chooses by ArgMax. In[0]
	// and In[1] have Out[0]'s dims but along the axis. The indices of a row are
	// distinct and in range, as those ops make them; others have no right
	// result, but nothing is written beside Out[0]. Float.
	SortGrad

	// Gather: Out[0] has the dims of In[1], int64 indices, and but along Attr.Axis
	// those of In[0]: each of its elements is the one of In[0] at the same place,
	// the index taken for that along the axis. An index below 0, or not below
	// In[0]'s size, is an *Error wrapping ErrIndex that names it. Any dtype.
	//
	// On a device that works on after Run has returned a bad index is as a bad class
	// of CrossEntropy: the element becomes 0, and nothing out of bounds is read.
	Gather
	// Scatter writes the elements of In[0] to Out[0] at the indices In[1] (int64,
	// of In[0]'s dims) along Attr.Axis; the other dims are those of Out[0]. What no
	// index names stays as it is, and where several name one place the last along
	// the axis counts. A bad index is as for Gather, and writes nothing. Any dtype.
	Scatter
	// ScatterAdd is Scatter that adds to what Out[0] holds, in the order of the
	// indices along the axis. Integers wrap. Number.
	ScatterAdd

	endReductions
)
