package kernels

// Ops that make an element of its number: sequences and random numbers.
const (
	// Sequence: element i of Out[0], in row-major order, is Attr.Alpha +
	// i*Attr.Beta, by one fused multiply-add in float64, converted as Copy does
	// it. Number.
	Sequence = iota + endSteps

	// The random ops fill Out[0] with numbers by Philox4x32-10 (Salmon et al.
	// 2011), with Attr.Random.Seed as its key. What an element becomes depends on
	// its place i in row-major order, and on neither layout nor device: block n of
	// the generator, counted from Attr.Random.Offset on, is four words of 32 bits.
	// Words, one an element, are those of block i/4; long words, of 64 bits, the
	// two of block i/2, the second word of each above the first. [RandomBlocks]
	// says how many blocks a call uses.
	//
	// RandomUniform: Alpha + (Beta-Alpha)*u, rounded after each operation, with u in
	// [0,1): as many of the top bits of a word, or for Float64 of a long word, as
	// a number of the type has digits, so that u is less than 1 in the half types
	// too. The result may round to Beta. Float.
	RandomUniform
	// RandomNormal: Alpha + Beta*z, where z is made by pairs (Box and Muller 1958):
	// elements 2j and 2j+1 are sqrt(-2 log(u)) times the cosine and the sine of
	// 2 pi v, with u of (0,1] and v of [0,1) the numbers of the two elements, which
	// RandomUniform takes too, and u's greater by one in its last digit. The half
	// types have those of Float32. Within 8 epsilons of |Alpha| + 6*Beta. Float.
	RandomNormal
	// RandomInt: Attr.Random.Low plus the upper 64 bits of the product of a long
	// word and High-Low: whole numbers in [Low,High), which the type has all of.
	// No number is more frequent than another by more than (High-Low)/2^64 of its
	// share. Number.
	RandomInt
	// Bernoulli: 1 where a word is less than p*2^32, else 0. p is the element of
	// In[0], a Float, of Out[0]'s dims, or Attr.Alpha, in [0,1], where that is left
	// out. Elements of In[0] below 0 or NaN count as 0, those above 1 as 1; PyTorch
	// fails there. Any dtype.
	Bernoulli
	// Dropout: Out[0] = In[0] * f, where f is 0 for an element whose word is less
	// than p*2^32, p = Attr.Alpha in [0,1], and else 1/(1-p), rounded to the type
	// that is computed in. It is its own gradient: of the same numbers, with dy for
	// x, so that no mask is kept. Out[0] may lie over In[0]. Float.
	Dropout

	numOps
)
