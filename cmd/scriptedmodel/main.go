// Command scriptedmodel serves a scripted Messages API on loopback, so that the
// real Claude CLI can run without an account. Package scriptedmodel documents the
// script language.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sayso-dev/sayso/claude/scriptedmodel"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	script := flag.String("script", "", "file with the script of conversations that bring none")
	demo := flag.Bool("demo", false, "play the demo in conversations that bring no script")
	flag.Parse()

	var opts scriptedmodel.Options
	switch {
	case *script != "":
		data, err := os.ReadFile(*script)
		if err != nil {
			return err
		}
		if opts.Default, err = scriptedmodel.ParseScript(data); err != nil {
			return fmt.Errorf("%s: %w", *script, err)
		}
	case *demo:
		opts.Default = scriptedmodel.Demo()
	}
	server, err := scriptedmodel.Listen(*listen, scriptedmodel.New(opts))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Printf("ANTHROPIC_BASE_URL=%s\n", server.URL())
	return server.Run(ctx)
}
