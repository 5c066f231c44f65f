package ref

import (
	"math"
	"math/bits"
)

// Philox returns block number counter of the random words that belong to seed:
// Philox4x32-10 with the seed as its key and the counter in the low 64 bits of
// its counter.
func Philox(seed, counter uint64) [4]uint32 {
	return philox([4]uint32{uint32(counter), uint32(counter >> 32)}, [2]uint32{uint32(seed), uint32(seed >> 32)})
}

func philox(c [4]uint32, key [2]uint32) [4]uint32 {
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, c[0])
		hi2, lo2 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{hi2 ^ c[1] ^ key[0], lo2, hi0 ^ c[3] ^ key[1], lo0}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return c
}

// Uniform32 returns number i of those of [0,1) that begin at block offset and
// have so many digits, 24 at most: four of a block, the top bits of each word.
func Uniform32(seed, offset, i uint64, digits int) float32 {
	word := Philox(seed, offset+i/4)[i%4]
	return float32(math.Ldexp(float64(word>>(32-digits)), -digits))
}

// Uniform64 returns number i of the float64s in [0,1) that begin at block
// offset: two of a block, the top 53 bits of two words, the second above the
// first.
func Uniform64(seed, offset, i uint64) float64 {
	return float64(pair(seed, offset, i)>>11) * 0x1p-53
}

func pair(seed, offset, i uint64) uint64 {
	words := Philox(seed, offset+i/2)
	j := i % 2 * 2
	return uint64(words[j+1])<<32 | uint64(words[j])
}

// Normal32 returns number i of the normally distributed numbers, of mean 0 and
// deviation 1, that begin at block offset: Box and Muller's pair of the top 24
// bits of the first two words of a block, and that of the last two.
func Normal32(seed, offset, i uint64) float64 {
	words := Philox(seed, offset+i/4)
	j := i % 4 &^ 1
	u, v := float64(words[j]>>8+1)*0x1p-24, float64(words[j+1]>>8)*0x1p-24
	return boxMuller(u, v, i%2)
}

// Normal64 returns number i of the normally distributed float64s that begin at
// block offset: the pair of a block, from the first two words and the last two.
func Normal64(seed, offset, i uint64) float64 {
	first := i &^ 1
	u, v := float64(pair(seed, offset, first)>>11+1)*0x1p-53, Uniform64(seed, offset, first+1)
	return boxMuller(u, v, i%2)
}

// boxMuller makes two normal numbers of u in (0,1] and v in [0,1).
func boxMuller(u, v float64, which uint64) float64 {
	sin, cos := math.Sincos(2 * math.Pi * v)
	r := math.Sqrt(-2 * math.Log(u))
	if which == 0 {
		return r * cos
	}
	return r * sin
}
