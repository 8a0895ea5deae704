// Package backup reads and writes the file of a backup: a tar archive of files, compressed with
// gzip. The last file of the archive lists the SHA-256 of the others, so that truncated and altered
// archives are detected. The hashes detect accidents, not forgery.
package backup

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// ErrDamaged: the archive is not a backup, or it is truncated or altered. The error that wraps it
// says where.
var ErrDamaged = errors.New("the backup is damaged")

const (
	first = "sayso-backup" // name of the first file, whose content is the format
	last  = "SHA256SUMS"   // name of the last file, in the format of sha256sum
	// format is incremented when older programs would misread the files.
	format = "1\n"
	// maxSums bounds the list of hashes, in bytes.
	maxSums = 256 << 20
)

// Writer writes an archive. It is not safe for concurrent use.
type Writer struct {
	compressed *gzip.Writer
	archive    *tar.Writer
	at         time.Time
	sums       strings.Builder
}

// NewWriter starts an archive. Call [Writer.Close] to complete it; w is not closed.
func NewWriter(w io.Writer, at time.Time) (*Writer, error) {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	b := &Writer{compressed: compressed, archive: tar.NewWriter(compressed), at: at}
	return b, b.Add(first, int64(len(format)), strings.NewReader(format))
}

// Add adds a file with exactly size bytes of content. name uses slashes and has no line break.
func (w *Writer) Add(name string, size int64, content io.Reader) error {
	if err := w.add(name, size, content); err != nil {
		return fmt.Errorf("backup: add %s: %w", name, err)
	}
	return nil
}

func (w *Writer) add(name string, size int64, content io.Reader) error {
	if strings.ContainsAny(name, "\n\\") {
		return errors.New("the name has a character that a backup cannot store")
	}
	if err := w.archive.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: w.at, Format: tar.FormatPAX}); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.CopyN(w.archive, io.TeeReader(content, sum), size); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	fmt.Fprintf(&w.sums, "%x  %s\n", sum.Sum(nil), name)
	return nil
}

// Close adds the list of hashes and completes the archive.
func (w *Writer) Close() error {
	list := w.sums.String()
	if err := w.Add(last, int64(len(list)), strings.NewReader(list)); err != nil {
		return err
	}
	if err := errors.Join(w.archive.Close(), w.compressed.Close()); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// Read passes each file of an archive to visit, in the order in which they were added. If visit
// returns an error, Read stops and returns it. Read may return [ErrDamaged] even after it has passed
// all files, so the caller must not use them until Read has returned nil.
func Read(r io.Reader, visit func(name string, size int64, content io.Reader) error) error {
	damaged := func(at string, err error) error {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, at, err)
	}
	compressed, err := gzip.NewReader(bufio.NewReaderSize(r, 1<<20))
	if err != nil {
		return damaged("at its start", err)
	}
	archive := tar.NewReader(compressed)
	var sums strings.Builder
	at := "at its start"
	for {
		header, err := archive.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return damaged(at, err)
		}
		if sums.Len() == 0 && header.Name != first {
			return damaged(at, errors.New("it is another archive"))
		}
		at = "after " + header.Name
		switch header.Name {
		case last:
			list, err := io.ReadAll(io.LimitReader(archive, maxSums))
			if err != nil {
				return damaged(header.Name, err)
			}
			if err := compareSums(string(list), sums.String()); err != nil {
				return fmt.Errorf("%w: %w", ErrDamaged, err)
			}
			if _, err := archive.Next(); !errors.Is(err, io.EOF) {
				return damaged(at, errors.Join(errors.New("something follows"), err))
			}
			if _, err := io.Copy(io.Discard, compressed); err != nil { // compares the checksum of gzip
				return damaged(at, err)
			}
			return nil
		case first:
			text, err := io.ReadAll(io.LimitReader(archive, 100))
			switch {
			case err != nil:
				return damaged(header.Name, err)
			case string(text) != format:
				return fmt.Errorf("the backup has format %q and this program reads %q; restore it with the sayso that made it, or a newer one", strings.TrimSpace(string(text)), strings.TrimSpace(format))
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), header.Name)
		default:
			sum := sha256.New()
			content := &noting{r: io.TeeReader(archive, sum)}
			err := visit(header.Name, header.Size, content)
			if content.err != nil {
				return damaged("in "+header.Name, content.err)
			}
			if err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, content); err != nil {
				return damaged("in "+header.Name, err)
			}
			fmt.Fprintf(&sums, "%s  %s\n", hex.EncodeToString(sum.Sum(nil)), header.Name)
		}
	}
}

// noting records the error of its reader, so that Read can distinguish it from an error of visit.
type noting struct {
	r   io.Reader
	err error
}

func (n *noting) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return k, err
}

// compareSums returns an error that names the first file whose hash differs.
func compareSums(listed, found string) error {
	if listed == found {
		return nil
	}
	theirs, ours := strings.Split(listed, "\n"), strings.Split(found, "\n")
	for i, line := range theirs {
		if i < len(ours) && ours[i] == line {
			continue
		}
		_, name, _ := strings.Cut(line, "  ")
		if name == "" && i < len(ours) { // more files than are listed
			_, name, _ = strings.Cut(ours[i], "  ")
		}
		if name == "" {
			return errors.New("the list of hashes has an empty line")
		}
		return fmt.Errorf("%s differs from its hash", name)
	}
	return errors.New("the list of hashes ends too early")
}
