// Package folder reads, and never runs, what the CLI would take from the folder
// that it is started in: hooks, MCP servers, variables, helpers, rules, plugins,
// scheduled tasks, and what Git runs there, in nested repositories too. Driven by
// another program the CLI asks nobody whether these are to be trusted.
//
// What is read here is what 2.1.197 and 2.1.329 were seen to take;
// docs/contributing/claude-cli.md says how.
package folder

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Kind says what an [Item] is.
type Kind string

const (
	Hook       Kind = "hook"       // Name is its event, with the matcher
	MCPServer  Kind = "mcp_server" // Name is its name
	Variable   Kind = "variable"   // Name=Text is put into the environment
	Helper     Kind = "helper"     // Name is the setting, Text a command
	Rule       Kind = "rule"       // Text is allowed without asking
	Setting    Kind = "setting"    // Name is the setting, Text its value
	Agent      Kind = "agent"      // Text is what of it runs or permits something
	Command    Kind = "command"    // a slash command; as Agent
	Skill      Kind = "skill"      // as Agent
	Git        Kind = "git"        // Name is what of Git's configuration makes Git run Text, or hooks/NAME, whose program is Text
	Unreadable Kind = "unreadable" // Text says why nobody can say what the CLI makes of the file
)

// Danger says why an [Item] matters.
type Danger string

const (
	Runs      Danger = "runs"      // a program, without anybody being asked
	Redirects Danger = "redirects" // what the CLI or its programs talk to, or load
	Permits   Danger = "permits"   // what a person would be asked for otherwise
	Changes   Danger = "changes"   // how the CLI works, in a way not known to be harmless
)

// Item is one thing that the CLI would take from a folder.
type Item struct {
	Kind   Kind   `json:"kind"`
	Danger Danger `json:"danger"`
	File   string `json:"file"` // absolute
	Name   string `json:"name"`
	Text   string `json:"text"`
	// Cut: Text is not whole; Hash tells it from others that begin alike.
	Cut  bool   `json:"cut,omitempty"`
	Hash string `json:"hash,omitempty"`
}

// Found is what there is in a folder, in an order that depends on nothing else.
type Found struct {
	Items []Item // what runs something, or changes what may run; empty when nothing does
	// Told are files that only tell the model something: instructions, and agents,
	// commands and skills of which nothing runs by itself.
	Told []string
	// Digest is a hash over all Items, "" when there are none.
	Digest string
	// Stubborn: not all of it can be left out; see [Found.LeaveOut].
	Stubborn bool
}

const (
	maxFile  = 4 << 20 // bytes of a file that are understood
	maxHash  = 64 << 20
	maxText  = 4 << 10
	maxItems = 2000
	maxFiles = 5000 // and folders, of one folder of agents, commands or skills
	maxDepth = 8
)

// Known is what need not be shown.
type Known struct {
	// Own are folders of the CLI's user, such as ~/.claude: what lies there is no
	// repository's.
	Own []string
	// Home is the home folder of that user, to which ~ leads in Git's configuration.
	Home string
	// Allowed are rules by the file that they stand in, which a person had the CLI put
	// there.
	Allowed map[string][]string
}

// Read looks at what the CLI would take when it is started in dir, an absolute path
// without symbolic links. It fails only when it cannot be told what there is: a
// file that cannot be read for want of descriptors or memory, or by a fault of the disk,
// is such an error and no item.
func Read(dir string, known Known) (Found, error) {
	return read(dir, known, maxEntries)
}

func read(dir string, known Known, entries int) (Found, error) {
	if !filepath.IsAbs(dir) {
		return Found{}, errors.New("folder: the path is not absolute")
	}
	r := &reader{known: known, seen: map[string]bool{}, left: entries}
	parents := upwards(dir)
	git := r.gitOf(dir)

	settings := []string{
		filepath.Join(dir, ".claude", "settings.json"),
		filepath.Join(dir, ".claude", "settings.local.json"),
	}
	for _, root := range git.roots() {
		settings = append(settings, filepath.Join(root, ".claude", "settings.local.json"))
	}
	for _, file := range unique(settings) {
		r.settings(file)
	}
	for _, parent := range parents {
		r.servers(filepath.Join(parent, ".mcp.json"))
		for _, name := range []string{"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", filepath.Join(".claude", "CLAUDE.md"), filepath.Join(".claude", "AGENTS.md")} {
			r.tell(filepath.Join(parent, name))
		}
	}
	within := parents
	if git.root != "" {
		within = parents[:slices.Index(parents, git.root)+1]
	}
	for _, parent := range unique(append(slices.Clone(within), git.roots()...)) {
		for _, k := range []struct {
			kind Kind
			name string
		}{{Agent, "agents"}, {Command, "commands"}, {Skill, "skills"}, {Setting, "output-styles"}, {Setting, "rules"}} {
			r.prose(k.kind, filepath.Join(parent, ".claude", k.name))
		}
		r.workflows(filepath.Join(parent, ".claude", "workflows"))
		r.plugins(filepath.Join(parent, ".claude", "skills"))
	}
	for _, dir := range r.gitDirs(git) {
		r.gitDir(dir, dir != git.dir && dir != git.common)
	}
	top := dir
	if git.root != "" {
		top = git.root
	}
	r.nested(top)
	r.schedule(filepath.Join(dir, ".claude", "scheduled_tasks.json"))
	return r.found()
}

// upwards lists a folder and all above it.
func upwards(dir string) []string {
	dir = filepath.Clean(dir)
	list := []string{dir}
	for filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		list = append(list, dir)
	}
	return list
}

func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// reader collects.
type reader struct {
	known    Known
	items    []Item
	told     []string
	stubborn bool
	over     bool
	failed   error           // the first error that says nothing about the folder
	left     int             // files and folders that may still be looked at for nested repositories
	seen     map[string]bool // files of Git's configuration, and folders of hooks
}

func (r *reader) add(i Item) {
	if len(r.items) >= maxItems {
		r.over = true
		return
	}
	if len(i.Text) > maxText {
		sum := sha256.Sum256([]byte(i.Text))
		i.Cut, i.Hash = true, hex.EncodeToString(sum[:])
		i.Text = strings.ToValidUTF8(i.Text[:maxText], "")
	}
	i.Name = shorten(i.Name)
	r.items = append(r.items, i)
}

func shorten(name string) string {
	if len(name) <= maxText {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ToValidUTF8(name[:maxText], "") + "… " + hex.EncodeToString(sum[:])
}

// isOwn reports whether a file is the CLI's user's and no repository's.
func (r *reader) isOwn(file string) bool {
	return slices.Contains(r.known.Own, filepath.Dir(file))
}

// isLasting reports whether an error says what a file or folder is like, as opposed to
// what this machine is short of or fails at just now.
func isLasting(err error) bool {
	for _, lasting := range []error{
		fs.ErrNotExist, fs.ErrPermission, fs.ErrInvalid,
		syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.ENXIO, syscall.ENODEV,
	} {
		if errors.Is(err, lasting) {
			return true
		}
	}
	return false
}

// check notes an error that is not lasting: then it cannot be told what there is, and
// Read fails.
func (r *reader) check(err error) {
	if err != nil && r.failed == nil && !isLasting(err) {
		r.failed = err
	}
}

// unreadable is why a file cannot be read, a sentence for a person.
type unreadable string

func (u unreadable) Error() string { return string(u) }

// errNone: there is no such file.
var errNone = errors.New("no such file")

// read returns the contents of a file as the CLI would find it. What is no plain
// file, too large or closed to us is an item that says so: nobody can say what the
// CLI makes of it.
func (r *reader) read(file string) ([]byte, error) {
	data, why := contents(file)
	var sentence unreadable
	switch {
	case errors.Is(why, errNone):
		return nil, why
	case why != nil && !errors.As(why, &sentence):
		r.check(why)
		return nil, why
	case why != nil:
		r.add(Item{Kind: Unreadable, Danger: Changes, File: file, Text: why.Error(), Hash: hashOf(data)})
		return nil, why
	}
	return data, nil
}

// contents returns errNone, an unreadable, or an error that is not lasting.
func contents(file string) ([]byte, error) {
	// Neither a pipe nor a device may hold us up.
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return nil, errNone
	case err != nil:
		return nil, cannotRead(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, cannotRead(err)
	case info.IsDir():
		return nil, errNone
	case !info.Mode().IsRegular():
		return nil, unreadable("It is no plain file.")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, cannotRead(err)
	}
	if len(data) <= maxFile {
		return data, nil
	}
	h := sha256.New()
	h.Write(data)
	if _, err := io.Copy(h, io.LimitReader(f, maxHash)); err != nil {
		return nil, cannotRead(err)
	}
	return h.Sum(nil), unreadable("It is larger than settings are.")
}

func cannotRead(err error) error {
	if isLasting(err) {
		return unreadable("It cannot be read.")
	}
	return err
}

func hashOf(data []byte) string {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// tell notes a file of instructions.
func (r *reader) tell(file string) {
	info, err := os.Stat(file)
	r.check(err)
	if err == nil && !info.IsDir() && !r.isOwn(file) && len(r.told) < maxItems {
		r.told = append(r.told, file)
	}
}

// object decodes a JSON object of settings; what is none is an item.
func (r *reader) object(file string) map[string]json.RawMessage {
	if r.isOwn(file) {
		return nil
	}
	data, err := r.read(file)
	if err != nil {
		return nil
	}
	if strings.TrimSpace(string(data)) == "" {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		r.add(Item{Kind: Unreadable, Danger: Changes, File: file, Text: "It is not the JSON that settings are.", Hash: hashOf(data)})
		return nil
	}
	return object
}

func (r *reader) found() (Found, error) {
	if r.failed != nil {
		return Found{}, fmt.Errorf("folder: %w", r.failed)
	}
	if r.over {
		return Found{}, errors.New("folder: it holds more settings than can be shown")
	}
	slices.SortStableFunc(r.items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Hash, b.Hash))
	})
	f := Found{Items: r.items, Told: unique(r.told), Stubborn: r.stubborn}
	slices.Sort(f.Told)
	if len(f.Items) > 0 {
		text, err := json.Marshal(f.Items)
		if err != nil {
			return Found{}, err
		}
		f.Digest = "sha256:" + hashOf(text)
	}
	return f, nil
}
