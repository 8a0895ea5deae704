package main

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/store"
)

// migrationReports is how often a long step of a migration reports its progress.
const migrationReports = 5 * time.Second

// migrateFlags are the flags of sayso migrate.
type migrateFlags struct {
	from      string
	startOver bool
	serverFlags
}

func (f *migrateFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&f.from, "from", "", "copy the `database` at this address into the empty one of the settings")
	flags.BoolVar(&f.startOver, "start-over", false, "with --from: discard what an interrupted copy left, and start over")
	f.serverFlags.define(flags)
}

// migrate brings a database up to date without starting a server, or copies another one into it. No
// server may be using it.
func migrate(ctx context.Context, args []string, std streams) error {
	var f migrateFlags
	rest, err := parseFlags(newFlags("migrate", f.define), args)
	if err == nil {
		err = noArguments(rest)
	}
	if err == nil && f.startOver && f.from == "" {
		err = usageError("--start-over needs --from")
	}
	if err != nil {
		return err
	}
	s, err := f.settings("migrate")
	if err != nil {
		return err
	}
	databases := []string{s.Database}
	if f.from != "" {
		empty, err := store.IsEmpty(ctx, f.from)
		if err != nil {
			return err
		}
		if empty {
			return errors.New("there is no database to copy at the address of --from")
		}
		databases = append(databases, f.from)
	}
	unlock, err := lockOutServers(ctx, s.StateDir, databases...)
	if err != nil {
		return err
	}
	defer unlock()
	if err := refuseInterruptedRestore(s.StateDir); err != nil {
		return err
	}
	if f.from != "" {
		return transfer(ctx, s, f.from, f.startOver, std)
	}
	opened, err := store.Open(migrations.WithProgress(ctx, migrationReports, func(p migrations.Progress) {
		if p.Elapsed == 0 {
			fmt.Fprintf(std.out, "Step %d of %d: %s\n", p.Step, p.Steps, p.Name)
			return
		}
		fmt.Fprintf(std.out, "  %s, %s written; the database has %s\n", p.Elapsed.Round(time.Second), megabytes(uint64(p.Written)), megabytes(uint64(p.Size)))
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

// transfer copies the database at from into the one of the settings. The caller has locked both.
func transfer(ctx context.Context, s settings, from string, startOver bool, std streams) error {
	if err := store.CheckLog(from); err != nil {
		fmt.Fprintln(std.err, "Warning:", err)
	}
	result, err := store.Transfer(ctx, from, s.Database, startOver, transferReport(std.out))
	if err != nil {
		return err
	}
	// Opening the database once for writing leaves it as a server would.
	opened, err := store.Open(ctx, s.Database)
	if err != nil {
		return err
	}
	defer opened.Close()
	last, err := opened.AuditBase(ctx)
	if err != nil {
		return err
	}
	if err := account.WalkAudit(ctx, opened, func(e account.AuditEntry) error {
		last = e
		return nil
	}); err != nil {
		return fmt.Errorf("everything is copied, but the audit log was changed, in the source too: %w", err)
	}
	if result.Already {
		fmt.Fprintln(std.out, "Everything was copied before.")
	}
	fmt.Fprintf(std.out, "Verified: %d rows in %d tables are the same on both sides.\n", result.Rows, result.Tables)
	fmt.Fprintf(std.out, "The audit log is intact, up to entry %d:%s.\n", last.Seq, hex.EncodeToString(last.Hash))
	fmt.Fprintln(std.out, "Start the server with the new database. Keep the former one as a backup, and start no server with it.")
	return nil
}

// transferReport returns a function that prints the progress of a copy: a line for each table, and
// one every few seconds while a large table is copied.
func transferReport(out io.Writer) func(store.TransferProgress) {
	const pause = 2 * time.Second
	printed := time.Now()
	verbs := []string{"Copied", "Indexed", "Compared"}
	return func(p store.TransferProgress) {
		if p.Rows < p.Total && time.Since(printed) < pause || p.Total == 0 {
			return
		}
		printed = time.Now()
		name := strings.ReplaceAll(p.Table, "_", " ")
		if p.Rows < p.Total {
			fmt.Fprintf(out, "%s %s: %d of %d\n", verbs[p.Step], name, p.Rows, p.Total)
			return
		}
		fmt.Fprintf(out, "%s %s: %d\n", verbs[p.Step], name, p.Total)
	}
}
