//go:build torture

package shim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/shim"
)

// A disk that is really full, of blocks and of inodes. It needs root, to mount it.
func TestFullDisk(t *testing.T) {
	for name, options := range map[string]string{"blocks": "size=256k", "inodes": "size=64m,nr_inodes=12"} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := syscall.Mount("tmpfs", root, "tmpfs", 0, options); err != nil {
				t.Fatalf("mount a small disk, as root: %v", err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(root, syscall.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
			p := script(t, `read go; i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done`)
			p.Dir, p.Limits.Segment = filepath.Join(root, "bundle"), 20_000
			h := start(t, p)
			c := attach(t, h.Dir, 1, 0)
			ballast := filepath.Join(root, "ballast")
			if name == "blocks" {
				if err := os.WriteFile(ballast, make([]byte, 100<<10), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			wrote(t, c, "k", "go")
			until(t, "the shim says so", func() error {
				s, err := c.Stat(within(t))
				if err == nil && !strings.Contains(s.Blocked, "no space left") {
					err = fmt.Errorf("it says %q, %q", s.State, s.Blocked)
				}
				return err
			})
			_ = os.Remove(ballast) // there is one of two
			// What is stored is given back as it comes, and that is enough to go on.
			var lines int
			for range 20000 {
				equal(t, "line", recv(t, c), fmt.Sprint("line ", lines))
				lines++
				if err := c.Commit(c.Offset()); err != nil {
					t.Fatal(err)
				}
			}
			all(t, c)
			equal(t, "status", c.Exit().Status, 0)
			if err := c.AckExit(within(t)); err != nil {
				t.Fatal(err)
			}
			<-h.Done
			until(t, "exit.json", func() error {
				if b := bundle(t, h.Dir); b.State != shim.Exited {
					return fmt.Errorf("it is %s", b.State)
				}
				return nil
			})
		})
	}
}
