package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/internal/account"
)

// auditFlags are the flags of sayso audit.
type auditFlags struct {
	head string
	serverFlags
}

func (f *auditFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&f.head, "head", "", "an `entry` that verify printed before, as SEQ:HASH: it must still be there")
	f.serverFlags.define(flags)
}

// audit verifies or exports the audit log in the server's database. The server may be running.
func audit(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var f auditFlags
	flags := newFlags("audit", f.define)
	rest, err := parseFlags(flags, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 || rest[0] != "verify" && rest[0] != "export" {
		return usageError("it needs one of: verify, export")
	}
	verb, head := rest[0], &f.head
	seq, hash, _ := strings.Cut(*head, ":")
	want, err := strconv.ParseInt(seq, 10, 64)
	if *head != "" && (err != nil || hash == "") {
		return fmt.Errorf("--head %s: use the format that verify prints, SEQ:HASH", *head)
	}
	_, opened, err := openReadOnly(ctx, "audit", f.serverFlags)
	if err != nil {
		return err
	}
	defer opened.Close()

	out := bufio.NewWriter(stdout)
	base, err := opened.AuditBase(ctx)
	if err != nil {
		return err
	}
	if *head != "" && want < base.Seq {
		return fmt.Errorf("entry %d was removed after its retention, like all up to entry %d. Use a later --head", want, base.Seq)
	}
	found := *head == "" || want == base.Seq && hex.EncodeToString(base.Hash) == hash
	var last account.AuditEntry
	err = account.WalkAudit(ctx, opened, func(e account.AuditEntry) error {
		last = e
		found = found || e.Seq == want && hex.EncodeToString(e.Hash) == hash
		if verb != "export" {
			return nil
		}
		return httpapi.WriteAuditLine(out, e)
	})
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	switch {
	case errors.Is(err, account.ErrTampered):
		return fmt.Errorf("the audit log was changed: %w", err)
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("the audit log was changed: entry %s is missing or different", *head)
	}
	say := stdout
	if verb == "export" {
		say = stderr
	}
	if last.Seq == 0 {
		fmt.Fprintln(say, "The audit log is empty.")
		return nil
	}
	if base.Seq > 0 {
		fmt.Fprintf(say, "Entries up to %d were removed under the retention setting. The log records this, and the chain continues from their hash.\n", base.Seq)
	}
	fmt.Fprintf(say, "The audit log is intact: %d entries. Store this value elsewhere and pass it to --head next time: %d:%s\n", last.Seq-base.Seq, last.Seq, hex.EncodeToString(last.Hash))
	return nil
}
