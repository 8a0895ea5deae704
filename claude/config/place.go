package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// File returns the path of .claude.json, as the CLI finds it. getenv is os.Getenv.
func File(getenv func(string) string, home string) string {
	if dir := getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return filepath.Join(dir, ".claude.json")
	}
	return filepath.Join(home, ".claude.json")
}

// Dir returns the CLI's folder for settings, transcripts and running sessions. getenv is os.Getenv.
func Dir(getenv func(string) string, home string) string {
	if dir := getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(home, ".claude")
}

// Settings returns the path of the person's settings.json.
func Settings(getenv func(string) string, home string) string {
	return filepath.Join(Dir(getenv, home), "settings.json")
}

// Project returns the key under which the CLI stores the project of a folder, without symbolic
// links: the root of its Git repository, or the folder itself if it has none. For a worktree, it is
// the root of the main worktree.
func Project(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		git := filepath.Join(at, ".git")
		if info, err := os.Stat(git); err == nil {
			if !info.IsDir() {
				return mainRepository(git, at)
			}
			return at, nil
		}
		if filepath.Dir(at) == at {
			return dir, nil
		}
	}
}

// mainRepository returns the root of the repository whose worktree has this .git file.
func mainRepository(git, worktree string) (string, error) {
	text, err := ReadFile(git)
	if err != nil {
		return worktree, outOfResources(err)
	}
	gitDir, found := strings.CutPrefix(string(bytes.TrimSpace(text)), "gitdir: ")
	if !found {
		return worktree, nil
	}
	if !filepath.IsAbs(gitDir) {
		gitDir = filepath.Join(worktree, gitDir)
	}
	common, err := ReadFile(filepath.Join(gitDir, "commondir"))
	if err != nil {
		return worktree, outOfResources(err) // without that file, it is a submodule
	}
	dir := string(bytes.TrimSpace(common))
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(gitDir, dir)
	}
	if filepath.Base(dir) != ".git" {
		return worktree, nil
	}
	return filepath.Dir(dir), nil
}

// outOfResources returns err if it is a fault of this machine rather than of the file, else nil.
func outOfResources(err error) error {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO} {
		if errors.Is(err, e) {
			return err
		}
	}
	return nil
}
