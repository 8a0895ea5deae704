package attachment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/session"
)

// folder contains the attachments of an earlier version, each in a file named by its id. A nil
// folder is empty.
type folder struct{ root *os.Root }

// openFolder opens the folder at path, and returns nil if there is none.
func openFolder(path string) (*folder, error) {
	root, err := os.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("attachment: %w", err)
	}
	return &folder{root}, nil
}

func (f *folder) read(id string) ([]byte, error) {
	if _, err := uuid.Parse(id); err != nil || f == nil {
		return nil, session.ErrNoAttachment
	}
	data, err := f.root.ReadFile(id)
	if errors.Is(err, fs.ErrNotExist) {
		err = session.ErrNoAttachment
	}
	return data, err
}

// names lists the files.
func (f *folder) names() ([]string, error) {
	if f == nil {
		return nil, nil
	}
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

func (f *folder) remove(name string) error {
	err := f.root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
