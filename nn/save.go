package nn

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"tarn/tensor"
	"tarn/tensor/npy"
)

// ErrState means that what was saved does not fit what is to be loaded.
var ErrState = errors.New("nn: state does not fit")

// Save writes m's [State], and that of optimisers, to w as a NumPy archive, .npz:
// each tensor under its name, an optimiser's behind "optimizer0.", "optimizer1."
// and so on. It waits for the work that the state depends on. NumPy has no
// bfloat16, which is [tensor.ErrDType].
func Save(w io.Writer, m Module, optimizers ...Stateful) error {
	arrays, err := arraysOf(m, optimizers)
	if err == nil {
		err = npy.WriteZip(w, npy.Stored, arrays...)
	}
	if err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	return nil
}

// SaveFile is [Save] to the file at path, as [npy.WriteZipFile] writes it: what is
// there is replaced once the new file is whole.
func SaveFile(path string, m Module, optimizers ...Stateful) error {
	arrays, err := arraysOf(m, optimizers)
	if err == nil {
		err = npy.WriteZipFile(path, npy.Stored, arrays...)
	}
	if err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	return nil
}

// arraysOf returns what is to be saved.
func arraysOf(m Module, optimizers []Stateful) ([]npy.Named, error) {
	var arrays []npy.Named
	for _, p := range State(m) {
		arrays = append(arrays, npy.Named{Name: p.Name, Tensor: p.Tensor})
	}
	for i, o := range optimizers {
		state, err := o.State()
		if err != nil {
			return nil, err
		}
		for _, p := range state {
			arrays = append(arrays, npy.Named{Name: prefix(i) + p.Name, Tensor: p.Tensor})
		}
	}
	return arrays, nil
}

const optimizerPrefix = "optimizer"

func prefix(i int) string { return fmt.Sprintf("%s%d.", optimizerPrefix, i) }

// Load overwrites m's [State], and that of optimisers, with the arrays of the same
// names in a NumPy archive of size bytes, as [Save] writes it. There must be one for
// each tensor of m, of its shape and dtype, and no other, else it is [ErrState] and
// m is as before. Optimisers are told apart by their order; what the archive has of
// more of them is passed over, and one of which it has nothing begins anew.
func Load(r io.ReaderAt, size int64, m Module, optimizers ...Stateful) error {
	arrays, err := npy.ReadZip(r, size, tensor.CPU())
	if err == nil {
		err = load(arrays, m, optimizers)
	}
	if err != nil {
		return fmt.Errorf("nn: load: %w", err)
	}
	return nil
}

// LoadFile is [Load] of the file at path.
func LoadFile(path string, m Module, optimizers ...Stateful) error {
	arrays, err := npy.ReadZipFile(path, tensor.CPU())
	if err == nil {
		err = load(arrays, m, optimizers)
	}
	if err != nil {
		return fmt.Errorf("nn: load %s: %w", path, err)
	}
	return nil
}

// load releases the arrays.
func load(arrays []npy.Named, m Module, optimizers []Stateful) error {
	given := map[string]*tensor.Tensor{}
	states := make([][]Parameter, len(optimizers))
	for _, a := range arrays {
		defer a.Tensor.Release()
		i, name, ok := ofOptimizer(a.Name)
		switch {
		case !ok:
			given[a.Name] = a.Tensor
		case i < len(optimizers):
			states[i] = append(states[i], Parameter{name, a.Tensor})
		}
	}
	state := State(m)
	from := make([]*tensor.Tensor, len(state))
	for i, p := range state {
		if from[i] = given[p.Name]; from[i] == nil {
			return fmt.Errorf("%w: the archive has no %s", ErrState, p.Name)
		}
		delete(given, p.Name)
		if err := fits(p.Name, p.Tensor, from[i]); err != nil {
			return err
		}
	}
	if err := noneLeft(given); err != nil {
		return err
	}
	for i, o := range optimizers {
		if err := o.SetState(states[i]); err != nil {
			return fmt.Errorf("optimizer %d: %w", i, err)
		}
	}
	for i, p := range state {
		if err := overwrite(p.Tensor, from[i]); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// ofOptimizer takes the name of an array of an optimiser's state apart.
func ofOptimizer(array string) (i int, name string, ok bool) {
	rest, ok := strings.CutPrefix(array, optimizerPrefix)
	if !ok {
		return 0, "", false
	}
	number, name, ok := strings.Cut(rest, ".")
	i, err := strconv.Atoi(number)
	return i, name, ok && err == nil && i >= 0
}

// overwrite gives a tensor, on whatever device, the elements of one on the CPU.
func overwrite(t, u *tensor.Tensor) (err error) {
	there := u.ToDevice(t.Device())
	defer func() { err = errors.Join(err, there.Release()) }()
	return t.NoGrad().CopyInPlace(there)
}
