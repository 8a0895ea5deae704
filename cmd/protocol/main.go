// Command protocol records the lines between a Claude CLI and its host, on a scripted model on
// loopback, and keeps docs/protocol up to date.
//
//	protocol diff CLI      print how the CLI at this path differs from the newest tested version
//	protocol record CLI    add the version of the CLI to docs/protocol/observed.txt and versions.md
//	protocol traces CLI    write docs/protocol/traces
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/protocol"
	spec "github.com/sayso-dev/sayso/docs/protocol"
)

// mcpServer is the argument with which the program acts as the MCP server of its own recordings.
const mcpServer = "mcp-server"

func main() {
	docs := flag.String("docs", "docs/protocol", "the folder to read and write")
	against := flag.String("against", claude.NewestTested, "the version to compare with")
	flag.Parse()
	if flag.Arg(0) == mcpServer {
		if err := protocol.ServeMCP(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *docs, *against, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: protocol [-docs FOLDER] [-against VERSION] diff|record|traces CLI")

func run(ctx context.Context, out io.Writer, docs, against string, args []string) error {
	if len(args) != 2 || !slices.Contains([]string{"diff", "record", "traces"}, args[0]) {
		return errUsage
	}
	schema, err := protocol.ParseSchema(spec.Schema)
	if err != nil {
		return err
	}
	observedFile := filepath.Join(docs, "observed.txt")
	observed, err := protocol.ReadObserved(observedFile)
	if err != nil {
		return err
	}
	recording, err := record(ctx, args[1])
	if err != nil {
		return err
	}
	facts := schema.Inspect(recording.Lines)
	switch args[0] {
	case "diff":
		printDiff(out, observed, against, recording, facts)
		return nil
	case "record":
		observed.Set(recording.Version, recording, facts)
		if err := observed.Write(observedFile); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(docs, "versions.md"), []byte(protocol.VersionsPage(observed)), 0o644)
	}
	return writeTraces(filepath.Join(docs, "traces"), recording)
}

// record records the CLI at path, with this program as the MCP server.
func record(ctx context.Context, path string) (*protocol.Recording, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "protocol")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	r, err := protocol.Record(ctx, protocol.Options{Path: path, Scratch: scratch, Server: []string{self, mcpServer}})
	return &r, err
}

func printDiff(out io.Writer, observed *protocol.Observed, against string, r *protocol.Recording, f *protocol.Facts) {
	fmt.Fprintf(out, "%s, %d lines in %d conversations\n", r.Version, len(r.Lines), len(protocol.Conversations()))
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			lines = []string{"nothing"}
		}
		fmt.Fprintf(out, "\n%s\n", title)
		for _, l := range lines {
			fmt.Fprintln(out, "  "+l)
		}
	}
	section("Not in the schema:", f.UnknownFrom(protocol.FromCLI))
	section("Compared with "+against+" (+ new, - not seen):", observed.Diff(against, r, f))
}

func writeTraces(folder string, r *protocol.Recording) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, name := range protocol.Conversations() {
		trace := r.Trace(name)
		if len(trace) == 0 {
			continue // the conversation has no lines that can be traced
		}
		if err := os.WriteFile(filepath.Join(folder, name+".jsonl"), trace, 0o644); err != nil {
			return err
		}
	}
	return nil
}
