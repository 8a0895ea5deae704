package claude

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

// Checkpoint is the state, before a message, of the files that a CLI with [FileCheckpoints] has edited
// with its own tools.
type Checkpoint struct {
	// Folder is the absolute path of the folder with the backups.
	Folder string
	// Files maps each path to the name of its backup, "" for a file that did not exist. Paths
	// are absolute, or relative to the folder of the conversation.
	Files map[string]string
}

// maxCheckpointScan is how many bytes at the end of a conversation are searched for a checkpoint.
const maxCheckpointScan = 64 << 20

// Checkpoint returns the state of files before the person's message with that UUID. The error is
// [ErrNotSaved] if the conversation has none. It searches the last 64 MiB of the conversation.
//
// The file format of the CLI is undocumented; a test checks it with the supported versions.
func (f *SavedFolder) Checkpoint(s SavedConversation, messageID string) (c Checkpoint, err error) {
	file, err := os.OpenInRoot(filepath.Join(f.dir, "projects"), s.File)
	if err != nil {
		return c, fmt.Errorf("claude: saved conversation %s: %w", s.SessionID, err)
	}
	defer file.Close()
	begin := max(0, s.Size-maxCheckpointScan)
	in := bufio.NewReaderSize(io.NewSectionReader(file, begin, s.Size-begin), 256<<10)
	kind, wanted := []byte(`"file-history-`), []byte(messageID)
	for {
		line, err := in.ReadBytes('\n')
		if bytes.Contains(line, kind) && bytes.Contains(line, wanted) {
			c.add(line, messageID)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return c, fmt.Errorf("claude: saved conversation %s: %w", s.SessionID, err)
		}
	}
	if c.Files == nil {
		return c, ErrNotSaved
	}
	c.Folder = filepath.Join(f.dir, "file-history", s.SessionID)
	return c, nil
}

// add adds the state before a message that a line contains. When a file is edited for the first time,
// 2.1.197 repeats the whole state; 2.1.329 writes a line with only that file.
func (c *Checkpoint) add(line []byte, messageID string) {
	type backup struct {
		Name *string `json:"backupFileName"` // null for a file that did not exist
	}
	var e struct {
		Type     string `json:"type"`
		Snapshot struct {
			MessageID string            `json:"messageId"`
			Files     map[string]backup `json:"trackedFileBackups"`
		} `json:"snapshot"`

		SnapshotMessageID string `json:"snapshotMessageId"`
		Path              string `json:"trackingPath"`
		Backup            backup `json:"backup"`
	}
	if json.Unmarshal(line, &e) != nil {
		return
	}
	switch {
	case e.Type == "file-history-snapshot" && e.Snapshot.MessageID == messageID:
	case e.Type == "file-history-delta" && e.SnapshotMessageID == messageID && e.Path != "":
		e.Snapshot.Files = map[string]backup{e.Path: e.Backup}
	default:
		return
	}
	if c.Files == nil {
		c.Files = make(map[string]string, len(e.Snapshot.Files))
	}
	for path, b := range e.Snapshot.Files {
		switch {
		case b.Name == nil:
			c.Files[path] = ""
		case backupName.MatchString(*b.Name):
			c.Files[path] = *b.Name
		}
	}
}

// backupName matches the name of a backup. It excludes names that lead to another folder.
var backupName = regexp.MustCompile(`^[0-9a-f]{1,64}@v[0-9]{1,9}$`)
