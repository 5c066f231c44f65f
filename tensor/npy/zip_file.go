package npy

import (
	"errors"
	"os"

	"tarn/tensor"
)

// ReadZipFile reads the archive in the file at path, as [ReadZip] does.
func ReadZipFile(path string, p tensor.Place) ([]Named, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return ReadZip(f, info.Size(), p)
}

// WriteZipFile writes an archive of the tensors to the file at path, as [WriteZip]
// does. It is written under the name path.part first, and takes the place of what is
// there once it is whole: an error leaves that as it is.
func WriteZipFile(path string, packing Packing, tensors ...Named) error {
	part := path + ".part"
	f, err := os.Create(part)
	if err != nil {
		return err
	}
	if err := errors.Join(WriteZip(f, packing, tensors...), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, path)
}
