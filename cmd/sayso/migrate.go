package main

import (
	"context"
	"fmt"

	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/store"
)

// migrate brings a database up to date without starting a server. No server may be using it.
func migrate(ctx context.Context, args []string, std streams) error {
	var f serverFlags
	rest, err := parseFlags(newFlags("migrate", f.define), args)
	if err == nil {
		err = noArguments(rest)
	}
	if err != nil {
		return err
	}
	s, err := f.settings("migrate")
	if err != nil {
		return err
	}
	unlock, err := lockOutServers(ctx, s)
	if err != nil {
		return err
	}
	defer unlock()
	if err := refuseInterruptedRestore(s.StateDir); err != nil {
		return err
	}
	opened, err := store.Open(migrations.WithProgress(ctx, func(n, total int, name string) {
		fmt.Fprintf(std.out, "Step %d of %d: %s\n", n, total, name)
	}), s.Database)
	if err != nil {
		return err
	}
	if err := opened.Close(); err != nil {
		return err
	}
	fmt.Fprintln(std.out, "The database is up to date.")
	return nil
}
