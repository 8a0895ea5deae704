package claude

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Titles, tags and archive marks have the format of the CLI and the official SDKs: entries at the end
// of the conversation's file, and a file archived.json in its folder. A test checks that the TypeScript
// SDK reads them.

// Rename gives a saved conversation a title.
func (f *SavedFolder) Rename(s SavedConversation, title string) error {
	if title = strings.TrimSpace(title); title == "" {
		return errNoTitle
	}
	return f.appendEntry(s, titleNote(title, s.SessionID))
}

var errNoTitle = errors.New("claude: a title is not empty")

// savedNote is an entry about a session, with the fields in the CLI's order.
type savedNote struct {
	Type        string     `json:"type"`
	CustomTitle string     `json:"customTitle,omitempty"`
	Tag         *string    `json:"tag,omitempty"` // empty: none
	SessionID   string     `json:"sessionId"`
	UUID        string     `json:"uuid,omitempty"`
	Timestamp   *time.Time `json:"timestamp,omitempty"`
}

func titleNote(title, sessionID string) savedNote {
	return savedNote{Type: "custom-title", CustomTitle: title, SessionID: sessionID}
}

func tagNote(tag, sessionID string) savedNote {
	tag = strings.TrimSpace(tag)
	return savedNote{Type: "tag", Tag: &tag, SessionID: sessionID}
}

// forkTitle returns the default title of a copy.
func (s SavedConversation) forkTitle() string { return firstLine(s.Title) + " (fork)" }

// Tag marks a saved conversation with a tag; "" removes it.
func (f *SavedFolder) Tag(s SavedConversation, tag string) error {
	return f.appendEntry(s, tagNote(tag, s.SessionID))
}

func (f *SavedFolder) appendEntry(s SavedConversation, entry any) error {
	line, err := marshal(entry)
	if err != nil {
		return err
	}
	root, err := f.root()
	if err != nil {
		return err
	}
	defer root.Close()
	file, err := root.OpenFile(s.File, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return savedError(s, err)
	}
	defer file.Close()
	if end, err := file.Seek(0, io.SeekEnd); err == nil && end > 0 {
		var last [1]byte
		if _, err := file.ReadAt(last[:], end-1); err == nil && last[0] != '\n' {
			line = append([]byte("\n"), line...) // a CLI was killed while it was writing
		}
	}
	if _, err := file.Write(append(line, '\n')); err != nil { // one write, because a CLI may append at the same time
		return savedError(s, err)
	}
	return nil
}

func (f *SavedFolder) root() (*os.Root, error) {
	root, err := os.OpenRoot(filepath.Join(f.dir, "projects"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotSaved
	}
	return root, err
}

func savedError(s SavedConversation, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNotSaved
	}
	return fmt.Errorf("claude: saved conversation %s: %w", s.SessionID, err)
}

// archive is the content of archived.json.
type archive struct {
	Archived bool      `json:"archived"`
	At       time.Time `json:"at"`
	By       string    `json:"by"`
}

// companionFolder returns the folder of the files that belong to a conversation, below projects.
func (s SavedConversation) companionFolder() string { return strings.TrimSuffix(s.File, ".jsonl") }

// Archive marks a saved conversation as archived, or removes the mark. The conversation stays where it
// is. A later prompt in it makes the mark void.
func (f *SavedFolder) Archive(s SavedConversation, archived bool) error {
	root, err := f.root()
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Stat(s.File); err != nil {
		return savedError(s, err)
	}
	if err := root.Mkdir(s.companionFolder(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return savedError(s, err)
	}
	text, err := marshal(archive{archived, time.Now().UTC().Truncate(time.Millisecond), "sdk"})
	if err != nil {
		return err
	}
	temporary := s.companionFolder() + "/archived.json." + uuid.NewString()[:8]
	if err := root.WriteFile(temporary, text, 0o600); err != nil {
		return savedError(s, err)
	}
	if err := root.Rename(temporary, s.companionFolder()+"/archived.json"); err != nil {
		return errors.Join(savedError(s, err), root.Remove(temporary))
	}
	return nil
}

// isArchived reports whether the conversation has an archive mark and no later prompt.
func (s SavedConversation) isArchived(root *os.Root) bool {
	text, err := root.ReadFile(s.companionFolder() + "/archived.json")
	if err != nil {
		return false
	}
	var a archive
	return json.Unmarshal(text, &a) == nil && a.Archived && !s.LastPromptAt.After(a.At)
}

// Delete deletes a saved conversation and those of its subagents.
func (f *SavedFolder) Delete(s SavedConversation) error {
	root, err := f.root()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(s.File); err != nil {
		return savedError(s, err)
	}
	if err := root.RemoveAll(s.companionFolder()); err != nil {
		return savedError(s, err)
	}
	return nil
}

// maxEntry bounds a line that Fork copies or Messages reads, in bytes. Longer lines are skipped.
const maxEntry = MaxLine

// Fork copies a saved conversation up to and including the entry with the UUID upTo; "" copies all of it.
// Every entry gets a new UUID. An empty title stands for that of the original with " (fork)". Fork returns
// the id of the copy, which can be resumed. The copy has no checkpoints.
func (f *SavedFolder) Fork(s SavedConversation, upTo, title string) (sessionID string, err error) {
	root, err := f.root()
	if err != nil {
		return "", err
	}
	defer root.Close()
	in, err := root.Open(s.File)
	if err != nil {
		return "", savedError(s, err)
	}
	defer in.Close()
	sessionID = uuid.NewString()
	target := filepath.Dir(s.File) + "/" + sessionID + ".jsonl"
	out, err := root.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", savedError(s, err)
	}
	defer func() {
		if e := out.Close(); err == nil {
			err = e
		}
		if err != nil {
			err = errors.Join(savedError(s, err), root.Remove(target))
		}
	}()
	w := bufio.NewWriter(out)
	renamed := map[string]string{}
	found := upTo == ""
	lines := &lineReader{r: in, max: maxEntry}
	for {
		line, err := lines.next()
		if errors.Is(err, ErrTooLarge) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if err != nil {
			break
		}
		id, copied := forkEntry(line, s.SessionID, sessionID, renamed)
		if copied == nil {
			continue
		}
		if _, err := w.Write(append(copied, '\n')); err != nil {
			return "", err
		}
		if id == upTo && upTo != "" {
			found = true
			break
		}
	}
	if !found || len(renamed) == 0 {
		return "", ErrNotSaved
	}
	end, err := marshal(titleNote(cmp.Or(title, s.forkTitle()), sessionID))
	if err != nil {
		return "", err
	}
	if _, err := w.Write(append(end, '\n')); err != nil {
		return "", err
	}
	return sessionID, w.Flush()
}

// forkEntry returns a copy of an entry of the main conversation, and the UUID of the original. The copy
// is nil for any other entry. forkEntry adds the new UUID to renamed, by the original one.
func forkEntry(line []byte, from, to string, renamed map[string]string) (id string, copied []byte) {
	var entry map[string]json.RawMessage
	if json.Unmarshal(line, &entry) != nil || string(entry["isSidechain"]) == "true" {
		return "", nil
	}
	id = text(entry["uuid"])
	if id == "" || !slices.Contains([]string{"user", "assistant", "system", "attachment", "progress"}, text(entry["type"])) {
		return "", nil
	}
	renamed[id] = uuid.NewString()
	for key, value := range entry {
		if key != "message" && bytes.IndexByte(value, '-') >= 0 {
			entry[key] = renameUUIDs(value, renamed)
		}
	}
	var err error
	if entry["sessionId"], err = marshal(to); err != nil {
		return "", nil
	}
	if entry["forkedFrom"], err = marshal(map[string]string{"sessionId": from, "messageUuid": id}); err != nil {
		return "", nil
	}
	copied, err = marshal(entry)
	if err != nil {
		return "", nil
	}
	return id, copied
}

var quotedUUID = regexp.MustCompile(`"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"`)

// renameUUIDs replaces the strings in a value that are UUIDs in renamed.
func renameUUIDs(value json.RawMessage, renamed map[string]string) json.RawMessage {
	for _, found := range quotedUUID.FindAll(value, -1) {
		if name, known := renamed[string(found[1:len(found)-1])]; known {
			value = bytes.ReplaceAll(value, found, []byte(`"`+name+`"`))
		}
	}
	return value
}

// Subagents returns the saved conversations of the subagents of s, for [SavedFolder.Read]. Their
// SessionID is the id of the agent. Decode their lines with [Decode], not with [DecodeSaved].
func (f *SavedFolder) Subagents(s SavedConversation) ([]SavedConversation, error) {
	root, err := f.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files, err := fs.Glob(root.FS(), s.companionFolder()+"/subagents/agent-*.jsonl")
	if err != nil {
		return nil, savedError(s, err)
	}
	var list []SavedConversation
	for _, file := range files {
		info, err := root.Lstat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "agent-"), ".jsonl")
		list = append(list, SavedConversation{SessionID: id, CWD: s.CWD, ChangedAt: info.ModTime(), Size: info.Size(), File: file})
	}
	return list, nil
}

// Messages iterates over the messages of a saved conversation, oldest first: those that a CLI would load
// to resume it, without the rewound ones. Raw parts may be kept. It reads the file twice.
func (f *SavedFolder) Messages(s SavedConversation) iter.Seq2[SavedMessage, error] {
	return func(yield func(SavedMessage, error) bool) {
		conversation(func(each func([]byte) bool) error { return f.eachLine(s, each) }, yield)
	}
}

// conversation yields the messages of a conversation. It calls eachLine twice, which calls its argument
// with each line until the argument returns false.
func conversation(eachLine func(each func(line []byte) bool) error, yield func(SavedMessage, error) bool) {
	chain, err := chainOf(eachLine)
	if err != nil {
		yield(SavedMessage{}, err)
		return
	}
	err = eachLine(func(line []byte) bool {
		m, ok := DecodeSaved(line)
		if !ok || !chain[m.Message.Base().UUID] {
			return true
		}
		m.Message = Keep(m.Message)
		return yield(m, nil)
	})
	if err != nil {
		yield(SavedMessage{}, err)
	}
}

// chainOf returns the UUIDs of the entries from the newest message back to the first.
func chainOf(eachLine func(each func(line []byte) bool) error) (map[string]bool, error) {
	parents := map[string]string{}
	newest := ""
	err := eachLine(func(line []byte) bool {
		var e struct {
			Type          string `json:"type"`
			UUID          string `json:"uuid"`
			Parent        string `json:"parentUuid"`
			LogicalParent string `json:"logicalParentUuid"` // of a summary: the last entry that it summarizes
			IsSidechain   bool   `json:"isSidechain"`
		}
		if json.Unmarshal(line, &e) == nil && e.UUID != "" && !e.IsSidechain {
			parent := e.Parent
			if parent == "" {
				parent = e.LogicalParent
			}
			parents[e.UUID] = parent
			if e.Type == "user" || e.Type == "assistant" {
				newest = e.UUID
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	chain := map[string]bool{}
	for id := newest; id != "" && !chain[id]; id = parents[id] {
		chain[id] = true
	}
	return chain, nil
}

// eachLine calls each with the lines of a conversation until each returns false.
func (f *SavedFolder) eachLine(s SavedConversation, each func(line []byte) bool) error {
	root, err := f.root()
	if err != nil {
		return err
	}
	defer root.Close()
	file, err := root.Open(s.File)
	if err != nil {
		return savedError(s, err)
	}
	defer file.Close()
	lines := &lineReader{r: file, max: maxEntry}
	for {
		line, err := lines.next()
		switch {
		case errors.Is(err, ErrTooLarge):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return savedError(s, err)
		}
		if !each(line) {
			return nil
		}
	}
}
