// Package folder reads what the CLI would load from the folder in which it is started, without
// running any of it: hooks, MCP servers, variables, helpers, rules, plugins, scheduled tasks,
// and the commands that Git runs there and in nested repositories. When another program drives
// the CLI, the CLI does not ask whether to trust these.
//
// The rules follow the observed behavior of CLI 2.1.197 and 2.1.329;
// docs/contributing/claude-cli.md describes the method.
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
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/ellipsis"
)

// Kind is the kind of an [Item].
type Kind string

const (
	Hook       Kind = "hook"       // Name is its event, with the matcher
	MCPServer  Kind = "mcp_server" // Name is its name
	Variable   Kind = "variable"   // Name=Text is set in the environment
	Helper     Kind = "helper"     // Name is the setting, Text a command
	Rule       Kind = "rule"       // Text is allowed without asking
	Setting    Kind = "setting"    // Name is the setting, Text its value
	Agent      Kind = "agent"      // Text is the part that runs or permits something
	Command    Kind = "command"    // a slash command; as Agent
	Skill      Kind = "skill"      // as Agent
	Git        Kind = "git"        // Name is a key of Git's configuration and Text its value, which Git runs; or hooks/NAME and the program
	Unreadable Kind = "unreadable" // Text is the reason why the file cannot be read; what the CLI loads from it is unknown
)

// Danger is the reason why an [Item] needs trust.
type Danger string

const (
	Runs      Danger = "runs"      // runs a program without asking
	Redirects Danger = "redirects" // changes what the CLI or its programs connect to or load
	Permits   Danger = "permits"   // permits something that the CLI would otherwise ask about
	Changes   Danger = "changes"   // changes the CLI in a way not known to be harmless
)

// Item is a setting, file or command that the CLI would load from a folder.
type Item struct {
	Kind   Kind   `json:"kind"`
	Danger Danger `json:"danger"`
	File   string `json:"file"` // absolute
	Name   string `json:"name"`
	Text   string `json:"text"`
	// Truncated means that Text is shortened. Hash distinguishes it from texts with the same
	// beginning.
	Truncated bool   `json:"cut,omitempty"`
	Hash      string `json:"hash,omitempty"`
}

// Found is what a folder contains, in a stable order.
type Found struct {
	Items []Item // run something, or change what may run
	// Instructions are files that only instruct the model, including agents, commands and
	// skills that run nothing by themselves.
	Instructions []string
	// Digest is a hash of all Items, "" if there are none.
	Digest string
	// CannotOverride means that variables cannot disable all Items; see
	// [Found.OverrideVariables].
	CannotOverride bool
}

const (
	maxFile  = 4 << 20 // in bytes; larger files are not parsed
	maxHash  = 64 << 20
	maxText  = 4 << 10
	maxItems = 2000
	maxFiles = 5000 // files and folders in one folder of agents, commands or skills
	maxDepth = 8
)

// Trusted describes what [Read] leaves out.
type Trusted struct {
	// Own are folders of the CLI's user that belong to no repository, such as ~/.claude.
	Own []string
	// Home is the home folder of that user, for ~ in Git's configuration.
	Home string
	// Allowed are the rules that the CLI has added at a person's request, by file.
	Allowed map[string][]string
}

// Read returns what the CLI would load if it were started in dir, an absolute path without
// symbolic links. It returns an error for a temporary failure, such as too few descriptors, too
// little memory or a disk fault, and if there are more than 2000 items. A file that cannot be
// read for a permanent reason is an [Item].
func Read(dir string, trusted Trusted) (Found, error) {
	return read(dir, trusted, maxEntries)
}

func read(dir string, trusted Trusted, maxEntries int) (Found, error) {
	if !filepath.IsAbs(dir) {
		return Found{}, errors.New("folder: the path is not absolute")
	}
	r := &reader{known: trusted, seen: map[string]bool{}, left: maxEntries}
	parents := upwards(dir)
	git := r.findRepository(dir)

	settings := []string{
		filepath.Join(dir, ".claude", "settings.json"),
		filepath.Join(dir, ".claude", "settings.local.json"),
	}
	for _, root := range git.roots() {
		settings = append(settings, filepath.Join(root, ".claude", "settings.local.json"))
	}
	for _, file := range unique(settings) {
		r.readSettings(file)
	}
	for _, parent := range parents {
		r.readServers(filepath.Join(parent, ".mcp.json"))
		for _, name := range []string{"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", filepath.Join(".claude", "CLAUDE.md"), filepath.Join(".claude", "AGENTS.md")} {
			r.addInstructions(filepath.Join(parent, name))
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
			r.readDefinitions(k.kind, filepath.Join(parent, ".claude", k.name))
		}
		r.readWorkflows(filepath.Join(parent, ".claude", "workflows"))
		r.readPlugins(filepath.Join(parent, ".claude", "skills"))
	}
	for _, dir := range r.gitDirs(git) {
		r.readGitDir(dir, !slices.Contains(git.dirs, dir) && !slices.Contains(git.commons, dir))
	}
	top := dir
	if git.root != "" {
		top = git.root
	}
	r.readNested(top)
	r.readSchedule(filepath.Join(dir, ".claude", "scheduled_tasks.json"))
	return r.result()
}

// upwards lists a folder and its parents.
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

// reader collects the items of a folder.
type reader struct {
	known          Trusted
	items          []Item
	instructions   []string
	cannotOverride bool
	over           bool
	failed         error           // the first temporary error
	left           int             // files and folders that may still be listed in search of nested repositories
	seen           map[string]bool // Git configuration files and hook folders that have been read
}

func (r *reader) add(i Item) {
	if len(r.items) >= maxItems {
		r.over = true
		return
	}
	// JSON has no bytes that are not UTF-8, so the digest would not tell them apart either. A hash
	// that the item has already covers more than its text.
	if i.Hash == "" && (len(i.Text) > maxText || !utf8.ValidString(i.Text)) {
		i.Hash = hashOf([]byte(i.Text))
	}
	if len(i.Text) > maxText {
		i.Truncated, i.Text = true, strings.ToValidUTF8(i.Text[:maxText], "")
	}
	i.Name = boundedName(i.Name)
	r.items = append(r.items, i)
}

// boundedName returns a name of up to maxText bytes unchanged. It shortens a longer one and adds a
// hash, so that names stay distinct.
func boundedName(name string) string {
	if len(name) <= maxText {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return ellipsis.Bytes(name, maxText) + " " + hex.EncodeToString(sum[:])
}

// isUserFile reports whether a file belongs to the CLI's user and to no repository.
func (r *reader) isUserFile(file string) bool {
	return slices.Contains(r.known.Own, filepath.Dir(file))
}

// isPermanent reports whether an error is about the file or folder itself, rather than a temporary
// shortage or fault of this machine.
func isPermanent(err error) bool {
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

// recordTransient records the first temporary error, with which Read then fails.
func (r *reader) recordTransient(err error) {
	if err != nil && r.failed == nil && !isPermanent(err) {
		r.failed = err
	}
}

// unreadable is the reason why a file cannot be read, as a sentence for people.
type unreadable string

func (u unreadable) Error() string { return string(u) }

// errNone means that the file does not exist.
var errNone = errors.New("no such file")

// read returns the contents of a file as the CLI would read it. It adds an item for a file that is
// irregular, too large or unreadable, because what the CLI loads from it is unknown.
func (r *reader) read(file string) ([]byte, error) {
	data, why := readContents(file)
	var sentence unreadable
	switch {
	case errors.Is(why, errNone):
		return nil, why
	case why != nil && !errors.As(why, &sentence):
		r.recordTransient(why)
		return nil, why
	case why != nil:
		r.add(Item{Kind: Unreadable, Danger: Changes, File: file, Text: why.Error(), Hash: hashOf(data)})
		return nil, why
	}
	return data, nil
}

// readContents returns errNone, an unreadable, or a temporary error.
func readContents(file string) ([]byte, error) {
	// O_NONBLOCK, so that a pipe or device does not block.
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
	if isPermanent(err) {
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

// addInstructions adds a file of instructions.
func (r *reader) addInstructions(file string) {
	info, err := os.Stat(file)
	r.recordTransient(err)
	if err == nil && !info.IsDir() && !r.isUserFile(file) && len(r.instructions) < maxItems {
		r.instructions = append(r.instructions, file)
	}
}

// readObject decodes a JSON object of settings. It adds an item if the file contains anything
// else.
func (r *reader) readObject(file string) map[string]json.RawMessage {
	if r.isUserFile(file) {
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
	if mergesKeys(data) {
		r.add(Item{Kind: Unreadable, Danger: Changes, File: file, Text: "It is not the JSON that settings are.", Hash: hashOf(data)})
	}
	return object
}

func (r *reader) result() (Found, error) {
	if r.failed != nil {
		return Found{}, fmt.Errorf("folder: %w", r.failed)
	}
	if r.over {
		return Found{}, errors.New("folder: it holds more settings than can be shown")
	}
	slices.SortStableFunc(r.items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Hash, b.Hash))
	})
	f := Found{Items: r.items, Instructions: unique(r.instructions), CannotOverride: r.cannotOverride}
	slices.Sort(f.Instructions)
	if len(f.Items) > 0 {
		text, err := json.Marshal(f.Items)
		if err != nil {
			return Found{}, err
		}
		f.Digest = "sha256:" + hashOf(text)
	}
	return f, nil
}
