package nn

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tarn/tensor"
	"tarn/tensor/npy"
)

// ErrState means that an archive does not hold the state of a module.
var ErrState = errors.New("nn: state does not fit")

// Save writes m's [State] to w as a NumPy archive, .npz, each tensor under its name.
// It waits for the work that the state depends on. NumPy has no bfloat16, which is
// [tensor.ErrDType].
func Save(w io.Writer, m Module) error {
	state := State(m)
	arrays := make([]npy.Named, len(state))
	for i, p := range state {
		arrays[i] = npy.Named{Name: p.Name, Tensor: p.Tensor}
	}
	if err := npy.WriteZip(w, npy.Stored, arrays...); err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	return nil
}

// SaveFile is [Save] to the file at path. What is there is replaced once the new
// file is whole: an error leaves it as it is.
func SaveFile(path string, m Module) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(Save(f, m), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Load overwrites m's [State] with the arrays of the same names in a NumPy archive
// of size bytes, as [Save] writes it. There must be one for each, of its shape and
// dtype, and no other, else it is [ErrState] and nothing is overwritten.
func Load(r io.ReaderAt, size int64, m Module) error {
	arrays, err := npy.ReadZip(r, size, tensor.CPU())
	if err != nil {
		return fmt.Errorf("nn: load: %w", err)
	}
	rest := map[string]*tensor.Tensor{}
	for _, a := range arrays {
		rest[a.Name] = a.Tensor
		defer a.Tensor.Release()
	}
	state := State(m)
	found := make([]*tensor.Tensor, len(state))
	for i, p := range state {
		from := rest[p.Name]
		switch {
		case p.Err() != nil:
			return fmt.Errorf("nn: load %s: %w", p.Name, p.Err())
		case from == nil:
			return fmt.Errorf("%w: the archive has no %s", ErrState, p.Name)
		case !from.Shape().Equal(p.Shape()) || from.DType() != p.DType():
			return fmt.Errorf("%w: %s is %v %v, in the archive %v %v", ErrState, p.Name, p.DType(), p.Shape(), from.DType(), from.Shape())
		}
		found[i] = from
		delete(rest, p.Name)
	}
	for _, a := range arrays {
		if rest[a.Name] != nil {
			return fmt.Errorf("%w: the archive has %s, the module has not", ErrState, a.Name)
		}
	}
	for i, p := range state {
		if err := overwrite(p.Tensor, found[i]); err != nil {
			return fmt.Errorf("nn: load %s: %w", p.Name, err)
		}
	}
	return nil
}

// LoadFile is [Load] of the file at path.
func LoadFile(path string, m Module) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("nn: load: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("nn: load: %w", err)
	}
	if err := Load(f, info.Size(), m); err != nil {
		return fmt.Errorf("%w (%s)", err, path)
	}
	return nil
}

// overwrite gives a tensor, on whatever device, the elements of one on the CPU.
func overwrite(t, u *tensor.Tensor) (err error) {
	there := u.ToDevice(t.Device())
	defer func() { err = errors.Join(err, there.Release()) }()
	return t.NoGrad().CopyInPlace(there)
}
