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
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/internal/ellipsis"
)

// SavedFolder reads the conversations that the CLIs of this user have saved in their configuration
// folder (~/.claude unless CLAUDE_CONFIG_DIR is set). It skips what it cannot parse. Only Rename, Tag,
// Archive, Delete, Fork and Restore change the folder. Its methods are safe for concurrent use.
type SavedFolder struct {
	dir string

	mu    sync.Mutex // protects following
	known map[string]SavedConversation
}

// NewSavedFolder returns a reader of a configuration folder, which may be missing.
func NewSavedFolder(dir string) *SavedFolder {
	return &SavedFolder{dir: dir, known: map[string]SavedConversation{}}
}

// ConfigDir returns the configuration folder of a CLI with this environment, as KEY=value.
func ConfigDir(environ []string) string {
	home := ""
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, "CLAUDE_CONFIG_DIR="); ok && v != "" {
			return v
		}
		if v, ok := strings.CutPrefix(e, "HOME="); ok {
			home = v
		}
	}
	return filepath.Join(home, ".claude")
}

// SavedConversation is a conversation that a CLI has saved.
type SavedConversation struct {
	SessionID string
	CWD       string // folder in which it started
	Title     string // given by the person or the CLI, else the first words of the first prompt
	ChangedAt time.Time
	Size      int64  // bytes of the file
	Running   bool   // a running CLI has this conversation open
	File      string // path below the folder projects

	FirstPrompt  string // its first line
	Tag          string // see [SavedFolder.Tag]
	Archived     bool   // see [SavedFolder.Archive]
	GitBranch    string // in which it started
	CreatedAt    time.Time
	LastPromptAt time.Time // zero if the part of the file that was read has no prompt
}

// ErrNotSaved means that there is no saved conversation with that id.
var ErrNotSaved = errors.New("no saved conversation of that id")

var savedName = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.jsonl$`)

// How much of a file is read to list it, from its start and its end, in bytes. A file may have hundreds
// of megabytes.
const (
	headBytes = 256 << 10
	tailBytes = 64 << 10
)

// List returns up to limit conversations, latest first. A folder that does not exist has none.
func (f *SavedFolder) List(limit int) ([]SavedConversation, error) {
	root, err := os.OpenRoot(filepath.Join(f.dir, "projects"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("claude: saved conversations: %w", err)
	}
	defer root.Close()
	files, err := fs.Glob(root.FS(), "*/*.jsonl")
	if err != nil {
		return nil, fmt.Errorf("claude: saved conversations: %w", err)
	}
	var list []SavedConversation
	for _, file := range files {
		if !savedName.MatchString(path.Base(file)) {
			continue
		}
		info, err := root.Lstat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		list = append(list, SavedConversation{
			SessionID: strings.TrimSuffix(path.Base(file), ".jsonl"), ChangedAt: info.ModTime(), Size: info.Size(), File: file,
		})
	}
	slices.SortFunc(list, func(a, b SavedConversation) int {
		return cmp.Or(b.ChangedAt.Compare(a.ChangedAt), cmp.Compare(a.File, b.File))
	})
	list = list[:min(len(list), limit)]
	running := f.running()
	out := list[:0]
	for _, s := range list {
		if s = f.describe(root, s); s.CWD == "" {
			continue // it has no messages
		}
		s.Running, s.Archived = running[s.SessionID], s.isArchived(root)
		out = append(out, s)
	}
	return out, nil
}

// Find returns one conversation, or [ErrNotSaved].
func (f *SavedFolder) Find(sessionID string) (SavedConversation, error) {
	if !savedName.MatchString(sessionID + ".jsonl") {
		return SavedConversation{}, ErrNotSaved
	}
	root, err := os.OpenRoot(filepath.Join(f.dir, "projects"))
	if err != nil {
		return SavedConversation{}, fmt.Errorf("%w: %w", ErrNotSaved, err)
	}
	defer root.Close()
	files, err := fs.Glob(root.FS(), "*/"+sessionID+".jsonl")
	if err != nil || len(files) == 0 {
		return SavedConversation{}, ErrNotSaved
	}
	info, err := root.Lstat(files[0])
	if err != nil || !info.Mode().IsRegular() {
		return SavedConversation{}, ErrNotSaved
	}
	s := f.describe(root, SavedConversation{SessionID: sessionID, ChangedAt: info.ModTime(), Size: info.Size(), File: files[0]})
	if s.CWD == "" {
		return SavedConversation{}, ErrNotSaved
	}
	s.Running, s.Archived = f.running()[sessionID], s.isArchived(root)
	return s, nil
}

// describe adds what the file of a conversation contains, such as its folder and title.
func (f *SavedFolder) describe(root *os.Root, s SavedConversation) SavedConversation {
	f.mu.Lock()
	known, ok := f.known[s.File]
	f.mu.Unlock()
	if ok && known.Size == s.Size && known.ChangedAt.Equal(s.ChangedAt) {
		return known
	}
	file, err := root.Open(s.File)
	if err != nil {
		return s
	}
	defer file.Close()
	head := make([]byte, min(s.Size, headBytes))
	n, _ := file.ReadAt(head, 0)
	tail := make([]byte, min(s.Size, tailBytes))
	m, _ := file.ReadAt(tail, s.Size-int64(len(tail)))
	s.read(head[:n], tail[:m])
	f.mu.Lock()
	if len(f.known) > 4096 {
		f.known = map[string]SavedConversation{}
	}
	f.known[s.File] = s
	f.mu.Unlock()
	return s
}

// read sets the fields that come from these parts of the file.
func (s *SavedConversation) read(parts ...[]byte) {
	prompt, named := "", ""
	for _, part := range parts {
		for line := range bytes.Lines(part) {
			var e struct {
				Type        string    `json:"type"`
				CWD         string    `json:"cwd"`
				IsMeta      bool      `json:"isMeta"`
				IsSidechain bool      `json:"isSidechain"`
				CustomTitle string    `json:"customTitle"`
				AITitle     string    `json:"aiTitle"`
				Summary     string    `json:"summary"`
				Tag         *string   `json:"tag"`
				GitBranch   string    `json:"gitBranch"`
				Timestamp   time.Time `json:"timestamp"`
			}
			if json.Unmarshal(line, &e) != nil {
				continue // an incomplete line
			}
			if s.CWD == "" && filepath.IsAbs(e.CWD) {
				s.CWD = e.CWD
			}
			if s.GitBranch == "" {
				s.GitBranch = e.GitBranch
			}
			if s.CreatedAt.IsZero() {
				s.CreatedAt = e.Timestamp
			}
			switch e.Type {
			case "tag":
				if e.Tag != nil {
					s.Tag = *e.Tag
				}
			case "custom-title":
				named = cmp.Or(e.CustomTitle, named)
			case "ai-title":
				named = cmp.Or(named, e.AITitle)
			case "summary":
				named = cmp.Or(named, e.Summary)
			case "user":
				if e.IsMeta || e.IsSidechain {
					continue
				}
				if prompt == "" || e.Timestamp.After(s.LastPromptAt) {
					if m, err := Decode(bytes.TrimSpace(line)); err == nil {
						if u, ok := m.(*User); ok && PromptOf(u) != "" {
							prompt = cmp.Or(prompt, PromptOf(u))
							s.LastPromptAt = e.Timestamp
						}
					}
				}
			}
		}
	}
	s.Title, s.FirstPrompt = firstLine(cmp.Or(named, prompt)), firstLine(prompt)
}

// PromptOf returns the text that a person wrote in a saved message, or "". Results of tools, and texts
// that the CLI adds and marks with tags, are not prompts.
func PromptOf(u *User) string {
	var words []string
	for _, b := range u.Content {
		switch {
		case b.Type == "tool_result":
			return ""
		case b.Type == "text" && !cliText.MatchString(b.Text):
			words = append(words, b.Text)
		}
	}
	return strings.TrimSpace(strings.Join(words, "\n"))
}

var cliText = regexp.MustCompile(`^\s*(<(command-name|command-message|local-command-\w+|system-reminder|bash-\w+|user-memory-input|task-notification)>|\[Request interrupted by user|Caveat: The messages below)`)

// processExists reports whether a process with that id exists.
func processExists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func firstLine(s string) string {
	const maxBytes = 200 // bytes
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(ellipsis.Bytes(s, maxBytes))
}

// running returns the conversations that running CLIs have open. Older CLIs do not report
// them.
func (f *SavedFolder) running() map[string]bool {
	found := map[string]bool{}
	files, _ := filepath.Glob(filepath.Join(f.dir, "sessions", "*.json"))
	for _, file := range files {
		// Claude may write in this folder. Reading a pipe would block, and a device may have no end.
		const limit = 64 << 10
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() || info.Size() > limit {
			continue
		}
		data, err := os.ReadFile(file)
		var s struct {
			PID       int    `json:"pid"`
			SessionID string `json:"sessionId"`
		}
		if err == nil && json.Unmarshal(data, &s) == nil && s.PID > 0 && processExists(s.PID) {
			found[s.SessionID] = true
		}
	}
	return found
}

// SavedMessage is one line of a saved conversation: an *[Assistant], a *[User] or a
// *[System]. Its raw parts are borrowed from the line.
type SavedMessage struct {
	Message Message
	At      time.Time
	IsMeta  bool // written by the CLI, not by a person
}

// Read calls each with the lines of one chunk of a conversation, see [DecodeSaved]. The chunk has about
// size bytes and ends at offset end; -1 means the end of the file. Read returns the offset at which the
// chunk begins: pass it as end to read the previous chunk. It is 0 for the first chunk. Read skips a line
// that is longer than a chunk.
func (f *SavedFolder) Read(s SavedConversation, end int64, size int64, each func(line []byte)) (begin int64, err error) {
	file, err := os.OpenInRoot(filepath.Join(f.dir, "projects"), s.File)
	if err != nil {
		return 0, fmt.Errorf("claude: saved conversation %s: %w", s.SessionID, err)
	}
	defer file.Close()
	if end < 0 || end > s.Size {
		end = s.Size
	}
	begin = max(0, end-size)
	in := bufio.NewReaderSize(io.NewSectionReader(file, begin, end-begin), 64<<10)
	if begin > 0 {
		// The line in which the chunk begins belongs to the previous chunk.
		skipped, err := skipLine(in)
		if errors.Is(err, io.EOF) || err == nil && begin+skipped >= end {
			return begin, nil // the whole chunk lies within one line
		}
		if err != nil {
			return 0, fmt.Errorf("claude: saved conversation %s: %w", s.SessionID, err)
		}
		begin += skipped
	}
	for {
		line, err := in.ReadBytes('\n')
		if line := bytes.TrimSpace(line); len(line) > 0 {
			each(line)
		}
		if errors.Is(err, io.EOF) {
			return begin, nil
		}
		if err != nil {
			return 0, fmt.Errorf("claude: saved conversation %s: %w", s.SessionID, err)
		}
	}
}

// Mentions reports whether a conversation contains a message with that UUID, or a reference
// to it. It reads the whole file.
func (f *SavedFolder) Mentions(s SavedConversation, uuid string) (bool, error) {
	file, err := os.OpenInRoot(filepath.Join(f.dir, "projects"), s.File)
	if err != nil {
		return false, fmt.Errorf("claude: saved conversation %s: %w", s.SessionID, err)
	}
	defer file.Close()
	wanted := []byte(uuid)
	piece := make([]byte, 256<<10)
	kept := 0 // bytes of the previous chunk, in which the UUID may begin
	for {
		n, err := file.Read(piece[kept:])
		if bytes.Contains(piece[:kept+n], wanted) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("claude: saved conversation %s: %w", s.SessionID, err)
		}
		end := kept + n
		kept = min(end, len(wanted)-1)
		copy(piece, piece[end-kept:end])
	}
}

// EntryBefore returns the UUID of the last message of a person or of Claude before the user message with
// this UUID, or "" if there is none. The error is [ErrNotSaved] if the conversation has no such message.
// It reads the file up to that message.
func (f *SavedFolder) EntryBefore(s SavedConversation, uuid string) (string, error) {
	file, err := os.OpenInRoot(filepath.Join(f.dir, "projects"), s.File)
	if err != nil {
		return "", fmt.Errorf("claude: saved conversation %s: %w", s.SessionID, err)
	}
	defer file.Close()
	type entry struct {
		Type        string `json:"type"`
		UUID        string `json:"uuid"`
		Parent      string `json:"parentUuid"`
		IsSidechain bool   `json:"isSidechain"`
	}
	known := map[string]entry{}
	in := bufio.NewReaderSize(file, 256<<10)
	for {
		line, err := in.ReadBytes('\n')
		var e entry
		if json.Unmarshal(line, &e) == nil && e.UUID != "" && !e.IsSidechain {
			if e.UUID == uuid && e.Type == "user" {
				at := known[e.Parent]
				for range len(known) {
					if at.UUID == "" || at.Type == "user" || at.Type == "assistant" {
						break
					}
					at = known[at.Parent]
				}
				return at.UUID, nil
			}
			known[e.UUID] = e
		}
		if errors.Is(err, io.EOF) {
			return "", ErrNotSaved
		}
		if err != nil {
			return "", fmt.Errorf("claude: saved conversation %s: %w", s.SessionID, err)
		}
	}
}

func skipLine(in *bufio.Reader) (n int64, err error) {
	for {
		part, err := in.ReadSlice('\n')
		n += int64(len(part))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return n, err
		}
	}
}

// DecodeSaved decodes a line of a saved conversation. ok is false for a line that is not a message of
// the main conversation.
func DecodeSaved(line []byte) (m SavedMessage, ok bool) {
	var e struct {
		Type        string    `json:"type"`
		At          time.Time `json:"timestamp"`
		IsMeta      bool      `json:"isMeta"`
		IsSidechain bool      `json:"isSidechain"`
	}
	if json.Unmarshal(line, &e) != nil || e.IsSidechain {
		return m, false
	}
	if e.Type != "user" && e.Type != "assistant" && e.Type != "system" {
		return m, false
	}
	decoded, err := Decode(line)
	if err != nil {
		return m, false
	}
	return SavedMessage{Message: decoded, At: e.At, IsMeta: e.IsMeta}, true
}
