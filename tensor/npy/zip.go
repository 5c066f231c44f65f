package npy

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"tarn/tensor"
)

// Named is a tensor in an archive.
type Named struct {
	// Name is what NumPy finds it by: a path with slashes that is relative and
	// leads nowhere else, without the .npy of the entry.
	Name   string
	Tensor *tensor.Tensor
}

const (
	suffix = ".npy"
	// An archive may unpack to freeUnpacked bytes or to maxRatio times its own
	// size, whichever is more. Deflate reaches 1032, for zeros alone; of the
	// smallest archives even that is let pass.
	freeUnpacked = 1 << 30
	maxRatio     = 100
	// encrypted is the bit in the flags of an entry.
	encrypted = 1
)

// ReadZip reads an archive of size bytes and returns its arrays in their order,
// as dense tensors at p. On an error no tensor is left.
//
// Refused with an [*Error] are entries that are no .npy, have a name that is
// not as [Named] says or is there twice, are packed in another way than NumPy's
// two or encrypted, lie over each other, or are not of the size that the
// archive says; and archives that unpack to more than 1 GiB and to more than
// 100 times their size. Memory is taken as the arrays' bytes come.
func ReadZip(r io.ReaderAt, size int64, p tensor.Place) ([]Named, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, &Error{Offset: -1, What: "no archive", Err: err}
	}
	if err := checkEntries(z.File, size); err != nil {
		return nil, err
	}
	var all []Named
	for _, f := range z.File {
		t, err := readEntry(f, p)
		if err != nil {
			for _, n := range all {
				n.Tensor.Release()
			}
			return nil, err
		}
		all = append(all, Named{strings.TrimSuffix(f.Name, suffix), t})
	}
	return all, nil
}

func readEntry(f *zip.File, p tensor.Place) (*tensor.Tensor, error) {
	r, err := f.Open()
	if err != nil {
		return nil, &Error{Name: f.Name, Offset: 0, What: "cannot open the entry", Err: err}
	}
	defer r.Close()
	s := &source{r: r, name: f.Name, end: int64(f.UncompressedSize64), there: f.Method == zip.Store}
	return s.whole(p)
}

// span is where an entry's packed bytes lie in the archive.
type span struct {
	from, to int64
	name     string
}

// checkEntries looks at what the archive says of its entries, before any of
// them is unpacked.
func checkEntries(files []*zip.File, size int64) error {
	limit := uint64(max(freeUnpacked, maxRatio*size))
	seen, spans, total := map[string]bool{}, []span{}, uint64(0)
	for _, f := range files {
		at, err := f.DataOffset()
		if err != nil {
			return &Error{Name: f.Name, Offset: 0, What: "cannot find the entry", Err: err}
		}
		if what := refusal(f, seen[f.Name], size-at); what != "" {
			return &Error{Name: f.Name, Offset: 0, What: what}
		}
		seen[f.Name] = true
		spans = append(spans, span{at, at + int64(f.CompressedSize64), f.Name})
		if total += f.UncompressedSize64; f.UncompressedSize64 > limit || total > limit {
			return &Error{Name: f.Name, Offset: 0, What: fmt.Sprintf("the archive unpacks to more than %d bytes", limit)}
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return int(min(max(a.from-b.from, -1), 1)) })
	for i := 1; i < len(spans); i++ {
		if spans[i].from < spans[i-1].to {
			return &Error{Name: spans[i].name, Offset: 0, What: "lies over the bytes of " + printable(spans[i-1].name)}
		}
	}
	return nil
}

// refusal says what is wrong with an entry, whose packed bytes have room for so
// many in the archive; "" for nothing.
func refusal(f *zip.File, twice bool, room int64) string {
	name, isArray := strings.CutSuffix(f.Name, suffix)
	switch {
	case !isArray:
		return "no " + suffix + " file"
	case twice:
		return "an entry of this name was before"
	case badName(name) != "":
		return badName(name)
	case f.Flags&encrypted != 0:
		return "encrypted"
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Sprintf("packed by method %d, want 0 or 8", f.Method)
	case room < 0 || f.CompressedSize64 > uint64(room):
		return fmt.Sprintf("%d packed bytes where the archive has %d", f.CompressedSize64, room)
	case f.Method == zip.Store && f.CompressedSize64 != f.UncompressedSize64:
		return fmt.Sprintf("%d bytes stored as %d", f.UncompressedSize64, f.CompressedSize64)
	}
	return ""
}

// badName says why an array cannot be called so; "" if it can.
func badName(name string) string {
	switch {
	case name == "." || !fs.ValidPath(name) || strings.Contains(name, `\`):
		return "the name is no relative path with slashes"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "a control character in the name"
	}
	return ""
}

// Packing is how the arrays of an archive are packed.
type Packing uint16

// The packings, as numpy.savez and numpy.savez_compressed have them.
const (
	Stored   Packing = Packing(zip.Store)
	Deflated Packing = Packing(zip.Deflate)
)

// WriteZip writes an archive of the tensors to w, in their order, as [Write]
// writes each; numpy.load reads it. Names that are not as [Named] says, or are
// there twice, and types that NumPy has not, are an error before anything is
// written.
func WriteZip(w io.Writer, packing Packing, tensors ...Named) error {
	if packing != Stored && packing != Deflated {
		panic(fmt.Sprintf("npy: WriteZip with packing %d, want Stored or Deflated", packing))
	}
	seen := map[string]bool{}
	for i, n := range tensors {
		what := badName(n.Name)
		if seen[n.Name] {
			what = "the name is there twice"
		}
		if what != "" {
			return fmt.Errorf("npy: tensor %d, called %q: %s", i, n.Name, what)
		}
		seen[n.Name] = true
		if err := writable(n.Tensor); err != nil {
			return fmt.Errorf("npy: tensor %d, called %q: %w", i, n.Name, err)
		}
	}
	z := zip.NewWriter(w)
	for _, n := range tensors {
		a, err := arrayOf(n.Tensor)
		if err != nil {
			return fmt.Errorf("npy: %s: %w", printable(n.Name), err)
		}
		entry, err := z.CreateHeader(&zip.FileHeader{Name: n.Name + suffix, Method: uint16(packing)})
		if err == nil {
			err = a.write(entry)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}
