package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/claude"
)

// claudeSums are the SHA-256 sums of the Claude Code CLI, a line for each VERSION/PLATFORM/claude.
// scripts/pin-claude writes the file.
//
//go:embed claude.sha256
var claudeSums string

// claudeDownloads is where Anthropic publishes the CLI.
const claudeDownloads = "https://downloads.claude.ai/claude-code-releases"

// maxClaudeProgram bounds the download, in bytes. The program has about 240 MB.
const maxClaudeProgram = 1 << 30

// claudeDownloadTimeout bounds the download.
const claudeDownloadTimeout = 15 * time.Minute

// installClaudeFlags are the flags of sayso install-claude.
type installClaudeFlags struct{ into, from string }

func (f *installClaudeFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&f.into, "into", "", "`folder` of the program (default ~/.local/share/sayso/claude-"+claude.NewestTested+")")
	flags.StringVar(&f.from, "from", claudeDownloads, "`address` of a mirror")
}

// installClaude downloads the newest tested CLI for this machine, unless it is installed, and prints
// its path. It never installs a file whose sum is not the pinned one.
func installClaude(ctx context.Context, args []string, std streams) error {
	var f installClaudeFlags
	rest, err := parseFlags(newFlags("install-claude", f.define), args)
	if err == nil {
		err = noArguments(rest)
	}
	if err != nil {
		return err
	}
	if f.into == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return errors.New("there is no home folder. Name a folder with --into")
		}
		f.into = filepath.Join(home, ".local", "share", "sayso", "claude-"+claude.NewestTested)
	}
	name, sum, err := pinnedClaude(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	path := filepath.Join(f.into, "claude")
	if hasSum(path, sum) {
		fmt.Fprintln(std.out, path)
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is another program than Claude Code %s. Remove it, or name another folder with --into", path, claude.NewestTested)
	}
	fmt.Fprintf(std.err, "Downloading Claude Code %s…\n", claude.NewestTested)
	if err := downloadClaude(ctx, strings.TrimSuffix(f.from, "/")+"/"+name, sum, path); err != nil {
		return fmt.Errorf("cannot install Claude Code: %w", err)
	}
	fmt.Fprintln(std.out, path)
	return nil
}

// pinnedClaude returns the path of the newest tested CLI for a platform, relative to the address of
// the downloads, and its sum.
func pinnedClaude(goos, goarch string) (name, sum string, err error) {
	arch := goarch
	if arch == "amd64" {
		arch = "x64"
	}
	name = claude.NewestTested + "/" + goos + "-" + arch + "/claude"
	for line := range strings.Lines(claudeSums) {
		if sum, of, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && of == name {
			return name, sum, nil
		}
	}
	return "", "", fmt.Errorf("there is no Claude Code for %s/%s whose sum is known", goos, goarch)
}

// hasSum reports whether a file exists and has this SHA-256 sum.
func hasSum(path, sum string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return err == nil && hex.EncodeToString(hash.Sum(nil)) == sum
}

// downloadClaude downloads address to path. It fails, and leaves path unchanged, if the file does not
// have the sum.
func downloadClaude(ctx context.Context, address, sum, path string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, claudeDownloadTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, response.Status)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".claude-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(file, hash), io.LimitReader(response.Body, maxClaudeProgram))
	if err = errors.Join(err, file.Chmod(0o755), file.Close()); err != nil {
		return err
	}
	if found := hex.EncodeToString(hash.Sum(nil)); found != sum {
		return fmt.Errorf("%s has the SHA-256 sum %s, not %s. The download may have been tampered with", address, found, sum)
	}
	return os.Rename(file.Name(), path)
}
