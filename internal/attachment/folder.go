package attachment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/session"
)

// folder holds one file for each attachment, named by its id and readable by this user alone.
// Names that people choose never become paths.
type folder struct{ root *os.Root }

func openFolder(path string) (*folder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("attachment: %w", err)
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return nil, fmt.Errorf("attachment: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("attachment: %w", err)
	}
	return &folder{root}, nil
}

const partSuffix = ".part" // suffix of a file that is being written

// put writes a file atomically. It leaves an existing one unchanged.
func (f *folder) put(id string, data []byte) (err error) {
	if _, err := f.root.Lstat(id); err == nil {
		return nil
	}
	part := id + "." + uuid.NewString() + partSuffix
	file, err := f.root.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close(), f.root.Remove(part))
		}
	}()
	if _, err = file.Write(data); err != nil {
		return err
	}
	// The row that names the file may reach the disk before the system flushes the file.
	if err = file.Sync(); err != nil {
		return err
	}
	if err = f.root.Rename(part, id); err != nil {
		return err
	}
	return file.Close()
}

func (f *folder) read(id string) ([]byte, error) {
	if _, err := uuid.Parse(id); err != nil {
		return nil, session.ErrNoAttachment
	}
	data, err := f.root.ReadFile(id)
	if errors.Is(err, fs.ErrNotExist) {
		err = session.ErrNoAttachment
	}
	return data, err
}

// olderThan lists the names of the files that were written before a time.
func (f *folder) olderThan(before time.Time) ([]string, error) {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.ModTime().Before(before) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (f *folder) remove(name string) error {
	if filepath.Base(name) != name {
		return fs.ErrInvalid
	}
	return f.root.Remove(name)
}

func isPartial(name string) bool { return strings.HasSuffix(name, partSuffix) }
