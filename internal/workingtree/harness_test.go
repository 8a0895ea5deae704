package workingtree_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/internal/workspace"
)

// bench is a folder of sessions with a repository in repo, and a home.
type bench struct {
	t                *testing.T
	root, repo, home string
	git              *workingtree.Git
	hidden           string // a folder that the person may not see
}

func newBench(t *testing.T) *bench {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, root: filepath.Join(base, "work"), repo: filepath.Join(base, "work", "repo"), home: filepath.Join(base, "home")}
	for _, dir := range []string{b.repo, b.home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.git, err = workingtree.New(workingtree.Options{
		Command: func(ctx context.Context, dir, path string, args ...string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, path, args...)
			cmd.Dir = dir
			return cmd
		},
		As:      func(f func() error) error { return f() },
		Environ: b.environ(),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.run("init", "-q", "-b", "main")
	b.run("config", "user.name", "Mara")
	b.run("config", "user.email", "mara@example.org")
	return b
}

func (b *bench) environ() []string { return []string{"HOME=" + b.home, "PATH=" + os.Getenv("PATH")} }

// run runs git as a person would, with every setting.
func (b *bench) run(args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = b.repo, append(b.environ(), "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// write writes a file below the repository, or at an absolute path.
func (b *bench) write(name, content string) {
	b.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(b.repo, name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.repo, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func (b *bench) commit(message string) {
	b.t.Helper()
	b.run("add", "--all")
	b.run("commit", "-q", "-m", message)
}

// open opens a folder, "" for the repository.
func (b *bench) open(folder string) *workingtree.Folder {
	b.t.Helper()
	p := workingtree.Place{Roots: workspace.Roots{b.root}, CWD: filepath.Join(b.repo, folder)}
	if b.hidden != "" {
		p.Hidden = []string{b.hidden}
	}
	f, err := b.git.Open(b.t.Context(), p)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(f.Close)
	return f
}

// status returns the changes by path.
func (b *bench) status(f *workingtree.Folder, base workingtree.Base) (workingtree.Status, map[string]workingtree.Change) {
	b.t.Helper()
	s, err := f.Status(b.t.Context(), base)
	if err != nil {
		b.t.Fatal(err)
	}
	found := map[string]workingtree.Change{}
	for _, c := range s.Changes {
		found[c.Path] = c
	}
	return s, found
}

func (b *bench) compare(f *workingtree.Folder, base workingtree.Base, path, old string) workingtree.Comparison {
	b.t.Helper()
	c, err := f.Compare(b.t.Context(), base, path, old)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// discard discards what was planned.
func discard(ctx context.Context, f *workingtree.Folder, path, seen string) error {
	d, err := f.PlanDiscard(ctx, path, seen)
	if err != nil {
		return err
	}
	return f.Discard(ctx, d)
}

// addWorktree adds the worktree that was planned.
func addWorktree(ctx context.Context, f *workingtree.Folder, branch, base string) (string, error) {
	w, err := f.PlanWorktree(ctx, branch, base)
	if err != nil {
		return "", err
	}
	return f.AddWorktree(ctx, w)
}

// mergeWorktree merges what was planned.
func mergeWorktree(ctx context.Context, f *workingtree.Folder, digest string) (string, error) {
	m, err := f.PlanMerge(ctx, digest)
	if err != nil {
		return "", err
	}
	return f.MergeWorktree(ctx, m)
}

// removeWorktree removes what was planned.
func removeWorktree(ctx context.Context, f *workingtree.Folder, digest string) (workingtree.RemovedWorktree, error) {
	w, err := f.PlanRemoval(ctx, digest)
	if err != nil {
		return w, err
	}
	return f.RemoveWorktree(ctx, w)
}
