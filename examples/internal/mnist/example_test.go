package mnist_test

import (
	"fmt"

	"tarn/examples/internal/mnist"
)

func ExampleTest() {
	set, err := mnist.Test()
	if err != nil {
		fmt.Println(err)
		return
	}
	pixels, digit := set.Example(0)
	for row := range set.Rows() {
		if row < 7 || row%2 == 0 {
			continue
		}
		line := make([]byte, set.Cols())
		for col := range line {
			line[col] = '.'
			if pixels[row*set.Cols()+col] > 1 {
				line[col] = '#'
			}
		}
		fmt.Println(string(line))
	}
	fmt.Println("this is a", digit)
	// Output:
	// .......###..................
	// .......#.#############......
	// ...................##.......
	// .................###........
	// ................###.........
	// ...............###..........
	// ..............###...........
	// .............##.............
	// ...........###..............
	// ..........####..............
	// ............................
	// this is a 7
}
