package launch_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/launch/launchtest"
	"github.com/sayso-dev/sayso/pending"
)

func TestRunnerOfThisMachine(t *testing.T) {
	t.Parallel()
	launchtest.TestRunner(t, func(t *testing.T, cli *launch.CLI, _ workspace.Roots) launch.Runner {
		r, err := launch.NewRunner(cli, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	})
}

// A server on another host reads and changes nothing outside the roots of the runner, whatever roots it
// gives itself.
func TestRunnerKeepsToItsOwnRoots(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	own, outside := filepath.Join(base, "own"), filepath.Join(base, "outside")
	settings := filepath.Join(outside, ".claude", "settings.json")
	const savedID, saidID = "0190b5e0-0000-7000-8000-000000000000", "3cf289cc-9624-46f6-8006-86bcbd91c16c"
	saved := filepath.Join(base, ".claude/projects/-w", savedID+".jsonl")
	const grants = `{"permissions":{"allow":["Bash(ls:*)"]}}`
	checkpoint := `{"type":"user","cwd":"` + outside + `","uuid":"` + saidID + `","message":{"role":"user","content":"hello"}}` + "\n" +
		`{"type":"file-history-snapshot","messageId":"` + saidID + `","snapshot":{"messageId":"` + saidID + `","trackedFileBackups":{"secret":{"backupFileName":null}}}}` + "\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(settings), 0o700), os.MkdirAll(filepath.Dir(saved), 0o700), os.WriteFile(saved, []byte(checkpoint), 0o600), os.Mkdir(own, 0o700), os.WriteFile(settings, []byte(grants), 0o600),
		os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600), os.Symlink(outside, filepath.Join(own, "link"))); err != nil {
		t.Fatal(err)
	}
	r, err := launch.NewRunner(&launch.CLI{Path: "/bin/sh", Environ: []string{"HOME=" + base, "PATH=" + os.Getenv("PATH")}}, workspace.Roots{own})
	if err != nil {
		t.Fatal(err)
	}
	// What needs no folder of the caller: the CLI and its saved conversations are the runner's own, and
	// links are only followed. ListFolders and MatchPaths have no error where they list
	// nothing.
	noFolder := []string{
		"Home", "Installation", "SignInSentence", "ResolvePath", "RealPath", "IsFolder", "MatchPaths", "PrivateFiles",
		"SavedConversations", "SavedConversation", "ReadSaved", "SavedMentions", "SavedEntryBefore", "ListFolders",
	}
	methods := reflect.TypeFor[launch.Runner]()
	for _, dir := range []string{outside, filepath.Join(own, "link"), own + "/../outside", "/"} {
		everywhere := workspace.Roots{"/"}
		values := map[reflect.Type]any{
			reflect.TypeFor[workspace.Roots]():   everywhere,
			reflect.TypeFor[workingtree.Place](): workingtree.Place{Roots: everywhere, CWD: dir},
			reflect.TypeFor[workspace.Search]():  workspace.Search{Prefix: dir + "/"},
			reflect.TypeFor[pending.Grant]():     pending.Grant{Kind: pending.GrantRule, Rule: "Bash(ls:*)", Scope: pending.ScopeProject, Folder: dir},
			reflect.TypeFor[[]string]():          []string{dir},
			reflect.TypeFor[string]():            dir,
			reflect.TypeFor[int64]():             int64(100),
		}
		for i := range methods.NumMethod() {
			m := methods.Method(i)
			if slices.Contains(noFolder, m.Name) {
				continue
			}
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			texts := []any{savedID, saidID, "secret"} // of a checkpoint
			for k := 1; k < m.Type.NumIn(); k++ {
				if strings.Contains(m.Name, "Checkpoint") && m.Type.In(k).Kind() == reflect.String {
					args, texts = append(args, reflect.ValueOf(texts[0])), texts[1:]
				} else if v, known := values[m.Type.In(k)]; known {
					args = append(args, reflect.ValueOf(v))
				} else {
					args = append(args, reflect.Zero(m.Type.In(k)))
				}
			}
			out := reflect.ValueOf(r).MethodByName(m.Name).Call(args)
			err, _ := out[len(out)-1].Interface().(error)
			if p := (*problem.Error)(nil); !errors.As(err, &p) || !slices.Contains([]string{"folder_outside", "folder_dots"}, p.Reason) {
				t.Errorf("%s of %s: %v", m.Name, dir, err)
			}
		}
	}
	for _, prefix := range []string{"", "/", filepath.Join(own, "link") + "/"} {
		list, err := r.ListFolders(t.Context(), workspace.Roots{"/"}, workspace.Search{Prefix: prefix, Recent: []string{outside}, Hidden: true})
		if err != nil || slices.ContainsFunc(list.Folders, func(f workspace.Folder) bool { return f.Path != own }) {
			t.Errorf("folders that begin with %q: %+v, %v", prefix, list, err)
		}
	}
	for _, pattern := range []string{outside + "/*", base + "/*/*", filepath.Join(own, "link") + "/*", own + "/../*", "/*"} {
		if found, err := r.MatchPaths(t.Context(), pattern); err != nil || found.Known || len(found.Paths) > 0 {
			t.Errorf("the pattern %s matches %+v, %v", pattern, found, err)
		}
	}
	if f, err := r.ReadFile(t.Context(), workspace.Roots{"/"}, own, settings, 100); err != nil || f.State != workspace.FileOutside {
		t.Errorf("a file outside: %+v, %v", f, err)
	}
	if text, err := os.ReadFile(settings); err != nil || string(text) != grants {
		t.Errorf("the settings outside are %s, %v", text, err)
	}
}
