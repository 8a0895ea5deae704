package main

import (
	_ "embed"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/sayso-dev/sayso/claude"
)

// versionFile is the only place in the tree that names the version.
//
//go:embed VERSION
var versionFile string

// These are set at build time: version by tests of upgrades, to override the file, and commit by
// releases, which are built without Go's information about the repository.
var (
	version = ""
	commit  = ""
)

// versionText returns the version in the format of Semantic Versioning. A build that is not a release
// has its commit as build metadata, so that tabs notice a different build.
func versionText() string {
	if version != "" {
		return version
	}
	text := strings.TrimSpace(versionFile)
	if revision := vcsRevision(); len(revision) >= 12 {
		text += "+" + revision[:12]
	}
	return text
}

// vcsRevision returns the commit that Go found in the repository, or "".
func vcsRevision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// printVersion prints what a bug report needs. Programs may read the first line.
func printVersion(w io.Writer) {
	built := commit
	if built == "" {
		built = vcsRevision()
	}
	if built == "" {
		built = "unknown"
	}
	fmt.Fprintf(w, "sayso %s\n", versionText())
	fmt.Fprintf(w, "Commit:      %s\n", built)
	fmt.Fprintf(w, "Go:          %s %s/%s\n", strings.TrimPrefix(runtime.Version(), "go"), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(w, "Claude Code: %s to %s are tested\n", claude.OldestTested, claude.NewestTested)
}
