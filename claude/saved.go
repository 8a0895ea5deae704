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
)

// SavedFolder reads the conversations that CLIs of this user have saved, in their
// configuration folder (~/.claude unless CLAUDE_CONFIG_DIR says otherwise). The
// files are the CLI's own: they are only read, and what is not understood is left
// out. Its methods may be called from any goroutine.
type SavedFolder struct {
	dir string

	mu    sync.Mutex // protects following
	known map[string]Saved
}

// NewSavedFolder returns what reads a configuration folder. It need not be there.
func NewSavedFolder(dir string) *SavedFolder {
	return &SavedFolder{dir: dir, known: map[string]Saved{}}
}

// ConfigDir is the configuration folder of a CLI with an environment of KEY=value.
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

// Saved is a conversation that a CLI has saved.
type Saved struct {
	SessionID string
	CWD       string // where it began
	Title     string // as the CLI or the person named it, else the first words of the first prompt
	ChangedAt time.Time
	Size      int64 // bytes of the file
	Running   bool  // a CLI says that it is in this conversation just now

	file string // below projects
}

// ErrNotSaved: no conversation of that id was saved.
var ErrNotSaved = errors.New("no saved conversation of that id")

var savedName = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.jsonl$`)

// Of a file this much is read to list it, at its beginning and at its end: it may
// have hundreds of megabytes.
const (
	savedHead = 256 << 10
	savedTail = 64 << 10
)

// List returns the conversations that changed last, at most some.
func (f *SavedFolder) List(most int) ([]Saved, error) {
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
	var list []Saved
	for _, file := range files {
		if !savedName.MatchString(path.Base(file)) {
			continue
		}
		info, err := root.Lstat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		list = append(list, Saved{
			SessionID: strings.TrimSuffix(path.Base(file), ".jsonl"), ChangedAt: info.ModTime(), Size: info.Size(), file: file,
		})
	}
	slices.SortFunc(list, func(a, b Saved) int { return cmp.Or(b.ChangedAt.Compare(a.ChangedAt), cmp.Compare(a.file, b.file)) })
	list = list[:min(len(list), most)]
	running := f.running()
	out := list[:0]
	for _, s := range list {
		if s = f.described(root, s); s.CWD == "" {
			continue // nobody said anything in it
		}
		s.Running = running[s.SessionID]
		out = append(out, s)
	}
	return out, nil
}

// Find returns one conversation; [ErrNotSaved].
func (f *SavedFolder) Find(sessionID string) (Saved, error) {
	if !savedName.MatchString(sessionID + ".jsonl") {
		return Saved{}, ErrNotSaved
	}
	root, err := os.OpenRoot(filepath.Join(f.dir, "projects"))
	if err != nil {
		return Saved{}, fmt.Errorf("%w: %w", ErrNotSaved, err)
	}
	defer root.Close()
	files, err := fs.Glob(root.FS(), "*/"+sessionID+".jsonl")
	if err != nil || len(files) == 0 {
		return Saved{}, ErrNotSaved
	}
	info, err := root.Lstat(files[0])
	if err != nil || !info.Mode().IsRegular() {
		return Saved{}, ErrNotSaved
	}
	s := f.described(root, Saved{SessionID: sessionID, ChangedAt: info.ModTime(), Size: info.Size(), file: files[0]})
	if s.CWD == "" {
		return Saved{}, ErrNotSaved
	}
	s.Running = f.running()[sessionID]
	return s, nil
}

// described adds where a conversation began and what it is called.
func (f *SavedFolder) described(root *os.Root, s Saved) Saved {
	f.mu.Lock()
	known, ok := f.known[s.file]
	f.mu.Unlock()
	if ok && known.Size == s.Size && known.ChangedAt.Equal(s.ChangedAt) {
		return known
	}
	file, err := root.Open(s.file)
	if err != nil {
		return s
	}
	defer file.Close()
	head := make([]byte, min(s.Size, savedHead))
	n, _ := file.ReadAt(head, 0)
	tail := make([]byte, min(s.Size, savedTail))
	m, _ := file.ReadAt(tail, s.Size-int64(len(tail)))
	prompt, named := "", ""
	for _, part := range [][]byte{head[:n], tail[:m]} {
		for line := range bytes.Lines(part) {
			var e struct {
				Type        string `json:"type"`
				CWD         string `json:"cwd"`
				IsMeta      bool   `json:"isMeta"`
				IsSidechain bool   `json:"isSidechain"`
				CustomTitle string `json:"customTitle"`
				AITitle     string `json:"aiTitle"`
				Summary     string `json:"summary"`
			}
			if json.Unmarshal(line, &e) != nil {
				continue // a line that is cut off
			}
			if s.CWD == "" && filepath.IsAbs(e.CWD) {
				s.CWD = e.CWD
			}
			switch e.Type {
			case "custom-title":
				named = cmp.Or(e.CustomTitle, named)
			case "ai-title":
				named = cmp.Or(named, e.AITitle)
			case "summary":
				named = cmp.Or(named, e.Summary)
			case "user":
				if prompt == "" && !e.IsMeta && !e.IsSidechain {
					if m, err := Decode(bytes.TrimSpace(line)); err == nil {
						if u, ok := m.(*User); ok {
							prompt = PromptOf(u)
						}
					}
				}
			}
		}
	}
	s.Title = firstLine(cmp.Or(named, prompt))
	f.mu.Lock()
	if len(f.known) > 4096 {
		f.known = map[string]Saved{}
	}
	f.known[s.file] = s
	f.mu.Unlock()
	return s
}

// PromptOf is what a person said in a saved message; "" when it holds no words of a
// person: results of tools, and what the CLI put in, which it marks with tags.
func PromptOf(u *User) string {
	var words []string
	for _, b := range u.Content {
		switch {
		case b.Type == "tool_result":
			return ""
		case b.Type == "text" && !ownWords.MatchString(b.Text):
			words = append(words, b.Text)
		}
	}
	return strings.TrimSpace(strings.Join(words, "\n"))
}

var ownWords = regexp.MustCompile(`^\s*(<(command-name|command-message|local-command-\w+|system-reminder|bash-\w+|user-memory-input|task-notification)>|\[Request interrupted by user|Caveat: The messages below)`)

// processLives reports whether there is a process of that id.
func processLives(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func firstLine(s string) string {
	const most = 200 // bytes
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strings.TrimSpace(s)
}

// running are the conversations in which a CLI says to be. Older ones say nothing.
func (f *SavedFolder) running() map[string]bool {
	found := map[string]bool{}
	files, _ := filepath.Glob(filepath.Join(f.dir, "sessions", "*.json"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		var s struct {
			PID       int    `json:"pid"`
			SessionID string `json:"sessionId"`
		}
		if err == nil && json.Unmarshal(data, &s) == nil && s.PID > 0 && processLives(s.PID) {
			found[s.SessionID] = true
		}
	}
	return found
}

// SavedMessage is one line of a saved conversation: an *[Assistant], a *[User] or a
// *[System]. Its raw parts are borrowed.
type SavedMessage struct {
	Message Message
	At      time.Time
	IsMeta  bool // the CLI's own, not a person's
}

// Read calls each for the messages of the piece of a file that ends at a place, -1
// for its end, and has about that many bytes; and returns where the piece begins,
// which is the end of the one before it and 0 for the first. Lines of subagents
// and lines longer than a piece are left out.
func (f *SavedFolder) Read(s Saved, end int64, size int64, each func(SavedMessage)) (begin int64, err error) {
	file, err := os.OpenInRoot(filepath.Join(f.dir, "projects"), s.file)
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
		// The line that the piece begins in belongs to the one before.
		skipped, err := skipLine(in)
		if errors.Is(err, io.EOF) || err == nil && begin+skipped >= end {
			return begin, nil // all of the piece is inside one line
		}
		if err != nil {
			return 0, fmt.Errorf("claude: saved conversation %s: %w", s.SessionID, err)
		}
		begin += skipped
	}
	for {
		line, err := in.ReadBytes('\n')
		if m, ok := savedMessage(bytes.TrimSpace(line)); ok {
			each(m)
		}
		if errors.Is(err, io.EOF) {
			return begin, nil
		}
		if err != nil {
			return 0, fmt.Errorf("claude: saved conversation %s: %w", s.SessionID, err)
		}
	}
}

// Holds reports whether a conversation has a message of that UUID, or any other
// mention of it. It reads the file from its beginning to its end.
func (f *SavedFolder) Holds(s Saved, uuid string) (bool, error) {
	file, err := os.OpenInRoot(filepath.Join(f.dir, "projects"), s.file)
	if err != nil {
		return false, fmt.Errorf("claude: saved conversation %s: %w", s.SessionID, err)
	}
	defer file.Close()
	wanted := []byte(uuid)
	piece := make([]byte, 256<<10)
	kept := 0 // of the piece before, in which it may begin
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

func skipLine(in *bufio.Reader) (n int64, err error) {
	for {
		part, err := in.ReadSlice('\n')
		n += int64(len(part))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return n, err
		}
	}
}

func savedMessage(line []byte) (m SavedMessage, ok bool) {
	var e struct {
		Type        string    `json:"type"`
		At          time.Time `json:"timestamp"`
		IsMeta      bool      `json:"isMeta"`
		IsSidechain bool      `json:"isSidechain"`
	}
	if len(line) == 0 || json.Unmarshal(line, &e) != nil || e.IsSidechain {
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
