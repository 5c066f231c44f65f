package ref

import "tarn/kernels"

// products calls f with the index of each x, w and y of a convolution that meet:
// y is the sum of x*w.
func products(attr *kernels.ConvAttr, x, w, y *kernels.View, f func(x, w, y []int64)) {
	perGroup := w.Dims[0] / int64(attr.Groups)
	xat, wat := make([]int64, 4), make([]int64, 4)
	each(y, func(at []int64) {
		o := at[1]
		for c := range w.Dims[1] {
			for k := range w.Dims[2] {
				for l := range w.Dims[3] {
					i := at[2]*int64(attr.Stride[0]) - int64(attr.Padding[0]) + k*int64(attr.Dilation[0])
					j := at[3]*int64(attr.Stride[1]) - int64(attr.Padding[1]) + l*int64(attr.Dilation[1])
					if i >= 0 && i < x.Dims[2] && j >= 0 && j < x.Dims[3] {
						xat[0], xat[1], xat[2], xat[3] = at[0], o/perGroup*w.Dims[1]+c, i, j
						wat[0], wat[1], wat[2], wat[3] = o, c, k, l
						f(xat, wat, at)
					}
				}
			}
		}
	})
}

// elementSums are the exact sums of all elements of v.
type elementSums struct {
	v   *kernels.View
	all []exact
}

func sumsOf(v *kernels.View) *elementSums { return &elementSums{v, make([]exact, v.Len())} }

func (s *elementSums) at(index []int64) *exact {
	i := int64(0)
	for d, n := range s.v.Dims[:s.v.Rank] {
		i = i*n + index[d]
	}
	return &s.all[i]
}

func (s *elementSums) store() {
	each(s.v, func(i []int64) { set(s.v, s.at(i).value(), i...) })
}

func conv(a *kernels.Args) error {
	x, w, y := &a.In[0], &a.In[1], &a.Out[0]
	s := sumsOf(y)
	if len(a.In) == 3 {
		each(y, func(i []int64) { s.at(i).add(value(&a.In[2], i[1])) })
	}
	products(&a.Attr.Conv, x, w, y, func(i, j, k []int64) { s.at(k).add(value(x, i...) * value(w, j...)) })
	s.store()
	return nil
}

func convGradInput(a *kernels.Args) error {
	dy, w, dx := &a.In[0], &a.In[1], &a.Out[0]
	s := sumsOf(dx)
	products(&a.Attr.Conv, dx, w, dy, func(i, j, k []int64) { s.at(i).add(value(dy, k...) * value(w, j...)) })
	s.store()
	return nil
}

func convGradWeight(a *kernels.Args) error {
	dy, x, dw := &a.In[0], &a.In[1], &a.Out[0]
	s := sumsOf(dw)
	products(&a.Attr.Conv, x, dw, dy, func(i, j, k []int64) { s.at(j).add(value(dy, k...) * value(x, i...)) })
	s.store()
	return nil
}
