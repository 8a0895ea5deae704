package folder_test

import (
	"errors"
	"os"
	"reflect"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude/folder"
)

// TestScanWithFewDescriptors reads a folder with ever more free descriptors. What is found is
// all that there is, or an error: neither are files that do not exist settings to be
// trusted, nor is a hook overlooked. It is not parallel, because the limit is that of the
// process.
func TestScanWithFewDescriptors(t *testing.T) {
	root := place(t)
	put(t, root, map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\tfsmonitor = ./run\n",
		".claude/settings.json":     `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./run"}]}]}}`,
		".claude/agents/a.md":       "---\ntools: Bash\n---\nText\n",
		"a/b/c/.git/config":         "[diff]\n\texternal = ./run\n",
		".claude/skills/s/SKILL.md": "---\nallowed-tools: Bash\n---\nText\n",
	})
	all := read(t, root)
	if len(all.Items) < 5 {
		t.Fatalf("%d items in a folder with five", len(all.Items))
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	next, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	lowest := uint64(next.Fd())
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	for more := uint64(0); ; more++ {
		limit := before
		limit.Cur = lowest + more
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		found, err := folder.Read(root, folder.Trusted{})
		if restored := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); restored != nil {
			t.Fatal(restored)
		}
		if err == nil {
			if !reflect.DeepEqual(found, all) {
				t.Errorf("with %d descriptors it found %v", more, lines(root, found.Items))
			}
			if more == 0 {
				t.Error("it read without a descriptor")
			}
			return
		}
		if !errors.Is(err, syscall.EMFILE) {
			t.Errorf("with %d descriptors: %v", more, err)
		}
		if more > 20 {
			t.Fatal("it needs more than 20 descriptors")
		}
	}
}
