package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/internal/backup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// archive returns a backup of two files.
func archive(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := backup.NewWriter(&out, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"a/b": "one"} {
		if err := w.Add(name, int64(len(content)), strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Add("c", 600, bytes.NewReader(make([]byte, 600))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read returns the files of a backup.
func read(data []byte) (map[string]string, error) {
	files := map[string]string{}
	err := backup.Read(bytes.NewReader(data), func(name string, size int64, content io.Reader) error {
		text, err := io.ReadAll(content)
		files[name] = string(text)
		return err
	})
	return files, err
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	files, err := read(archive(t))
	if err != nil || len(files) != 2 || files["a/b"] != "one" || len(files["c"]) != 600 {
		t.Fatalf("got %d files and error %v", len(files), err)
	}
}

func TestTruncatedAtEveryByte(t *testing.T) {
	t.Parallel()
	whole := archive(t)
	for n := range whole {
		if _, err := read(whole[:n]); !errors.Is(err, backup.ErrDamaged) {
			t.Fatalf("the first %d of %d bytes: %v", n, len(whole), err)
		}
	}
}

// The checksum of gzip would find each changed byte of the file, so this changes the bytes within.
func TestAlteredAtEveryByte(t *testing.T) {
	t.Parallel()
	unpacked, err := gzip.NewReader(bytes.NewReader(archive(t)))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := read(archive(t))
	for i := 0; i < len(plain); i += 3 {
		changed := bytes.Clone(plain)
		changed[i] ^= 0x11
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.NoCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(changed); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := read(packed.Bytes())
		if err == nil && (files["a/b"] != want["a/b"] || files["c"] != want["c"] || len(files) != len(want)) {
			t.Fatalf("byte %d of %d was changed and nobody noticed", i, len(plain))
		}
	}
}

func TestErrorOfTheVisitor(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	err := backup.Read(bytes.NewReader(archive(t)), func(string, int64, io.Reader) error { return mine })
	if !errors.Is(err, mine) || errors.Is(err, backup.ErrDamaged) {
		t.Fatal(err)
	}
}

func TestShortFile(t *testing.T) {
	t.Parallel()
	w, err := backup.NewWriter(io.Discard, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add("a", 10, strings.NewReader("short")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
}

func TestListWithAnEmptyLine(t *testing.T) {
	t.Parallel()
	plain, err := gzip.NewReader(bytes.NewReader(archive(t)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	from, to := tar.NewReader(plain), tar.NewWriter(compressed)
	for {
		header, err := from.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if header.Name == "SHA256SUMS" {
			content = append(content, '\n')
		}
		header.Size = int64(len(content))
		if err := errors.Join(to.WriteHeader(header), func() error { _, err := to.Write(content); return err }()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(to.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := read(out.Bytes()); !errors.Is(err, backup.ErrDamaged) {
		t.Fatal(err)
	}
}
