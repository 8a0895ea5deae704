package orchestrator_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/session"
)

func TestFoldersThatSomebodyWorkedInComeFirst(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		for _, name := range []string{"a", "b", "c"} {
			if err := os.Mkdir(filepath.Join(b.folder, name), 0o700); err != nil {
				b.t.Fatal(err)
			}
		}
		for _, name := range []string{"c", "b", "b"} {
			id, err := b.Start(b.t.Context(), orchestrator.StartRequest{CWD: filepath.Join(b.folder, name), Prompt: "hello", By: b.person})
			if err != nil {
				b.t.Fatal(err)
			}
			b.wait(id, in(session.UserTurn))
		}
		folder := func(name string, recent bool) workspace.Folder {
			return workspace.Folder{Path: filepath.Join(b.folder, name), Recent: recent}
		}
		for user, want := range map[string][]workspace.Folder{
			b.person.UserID: {folder("b", true), folder("c", true), folder("a", false)},
			"another":       {folder("a", false), folder("b", false), folder("c", false)},
		} {
			got, err := b.Folders(b.t.Context(), user, workspace.Search{Prefix: b.folder + "/"})
			if err != nil || !reflect.DeepEqual(got.Folders, want) {
				b.t.Errorf("%s: got %+v, %v, want %+v", user, got.Folders, err, want)
			}
		}
		var invalid *problem.Error
		if _, err := b.Folders(b.t.Context(), "u1", workspace.Search{Prefix: "/etc/"}); !errors.As(err, &invalid) || invalid.Field != "prefix" {
			b.t.Errorf("got %v, want a refusal", err)
		}
	})
}

// A new session proposes what the same person used last in the folder or in a worktree of it.
func TestLastChoiceInAFolder(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		start := func(name, mode, model string) {
			b.t.Helper()
			dir := filepath.Join(b.folder, name)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				b.t.Fatal(err)
			}
			id, err := b.Start(b.t.Context(), orchestrator.StartRequest{CWD: dir, Prompt: "hello", PermissionMode: mode, Model: model, By: b.person})
			if err != nil {
				b.t.Fatal(err)
			}
			b.wait(id, in(session.UserTurn))
		}
		check := func(user, name, wantMode, wantModel string) {
			b.t.Helper()
			mode, model, err := b.LastChoice(b.t.Context(), user, filepath.Join(b.folder, name))
			if err != nil || mode != wantMode || model != wantModel {
				b.t.Errorf("%s in %s: got %q, %q, %v", user, name, mode, model, err)
			}
		}
		start("a", "plan", "opus")
		start("b/.worktrees/x", "acceptEdits", "")
		check(b.person.UserID, "a", "plan", "opus")
		check(b.person.UserID, "b", "acceptEdits", "")
		check(b.person.UserID, "c", "", "")
		check("another", "a", "", "")
	})
}
