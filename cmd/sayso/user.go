package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	osuser "os/user"
	"strings"
	"text/tabwriter"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store"
)

// userFlags are the flags of sayso user.
type userFlags struct {
	role string
	serverFlags
}

func (f *userFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&f.role, "role", "member", "`role` of the user: viewer, member or admin")
	f.serverFlags.define(flags)
}

// user manages users in the server's database. The server may be running and notices changes
// within a second.
func user(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	var f userFlags
	flags := newFlags("user", f.define)
	rest, err := parseFlags(flags, args)
	if err != nil {
		return err
	}
	verb, name := "", ""
	if len(rest) > 0 {
		verb, rest = rest[0], rest[1:]
	}
	if len(rest) > 0 {
		name, rest = rest[0], rest[1:]
	}
	known := map[string]bool{"add": true, "passwd": true, "role": true, "disable": true, "enable": true, "list": false}
	named, ok := known[verb]
	gave := false
	flags.Visit(func(f *flag.Flag) { gave = gave || f.Name == "role" })
	switch {
	case verb == "role" && !gave, gave && verb != "role" && verb != "add":
		ok = false // no role was given
	}
	if !ok || named != (name != "") || len(rest) > 0 {
		return usageError("it needs one of: add NAME, passwd NAME, role NAME --role ROLE, disable NAME, enable NAME, list")
	}
	if verb == "list" {
		_, opened, err := openReadOnly(ctx, "user", f.serverFlags)
		if err != nil {
			return err
		}
		defer opened.Close()
		return listUsers(ctx, account.NewDirectory(opened), stdout)
	}
	s, directory, done, err := openDirectory(ctx, "user", f.serverFlags)
	if err != nil {
		return err
	}
	defer done()
	ctx = asCommandLine(ctx)
	if verb == "add" {
		made, err := directory.CreateUser(ctx, name, account.Role(f.role), "")
		if err != nil {
			return err
		}
		secret, err := directory.NewSignInLink(ctx, made.UserID)
		if err != nil {
			return err
		}
		fmt.Fprintln(stdout, signInAddress(readAddresses(s).outside, "", secret))
		fmt.Fprintf(stderr, "%s can sign in with this link once, within %s. To set a password, run: sayso user passwd NAME\n", made.Name, signInLinkTTL)
		return nil
	}
	people, err := directory.Users(ctx)
	if err != nil {
		return err
	}
	if u, found := account.FindUser(people, name); found {
		switch verb {
		case "role":
			return directory.SetRole(ctx, u.UserID, account.Role(f.role))
		case "disable", "enable":
			return directory.SetDisabled(ctx, u.UserID, verb == "disable")
		}
		if f, ok := stdin.(*os.File); ok {
			if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
				fmt.Fprint(stderr, "New password (visible as you type): ")
			}
		}
		line, err := bufio.NewReader(io.LimitReader(stdin, account.MaxPassword+2)).ReadString('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("cannot read the password: %w", err)
		}
		_, err = directory.ResetPassword(ctx, u.UserID, strings.TrimRight(line, "\r\n"))
		return err
	}
	return fmt.Errorf("there is no user %q; 'sayso user list' lists them", name)
}

// asCommandLine makes the user who runs a command the actor of its changes.
func asCommandLine(ctx context.Context) context.Context {
	name := ""
	if u, err := osuser.Current(); err == nil {
		name = u.Username
	}
	return account.WithActor(ctx, account.CommandLine(name))
}

func listUsers(ctx context.Context, directory *account.Directory, stdout io.Writer) error {
	people, err := directory.Users(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tROLE\tPASSWORD\tSINCE\t")
	for _, u := range people {
		password, state := "no", ""
		if u.HasPassword {
			password = "yes"
		}
		if u.Disabled {
			state = "disabled"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", u.Name, u.Role, password, u.CreatedAt.Format("2006-01-02"), state)
	}
	return w.Flush()
}

// openDirectory opens the accounts of a server for one verb.
func openDirectory(ctx context.Context, verb string, f serverFlags) (settings, *account.Directory, func(), error) {
	s, opened, err := openStore(ctx, verb, f)
	if err != nil {
		return s, nil, nil, err
	}
	return s, account.NewDirectory(opened), func() { opened.Close() }, nil
}

// openStore opens the database of a server for one verb that changes it.
func openStore(ctx context.Context, verb string, f serverFlags) (settings, store.Store, error) {
	return openBy(ctx, store.OpenMigrated, verb, f)
}

// openReadOnly opens the database of a server for one verb that only reads: it creates none,
// and does not migrate one of another version.
func openReadOnly(ctx context.Context, verb string, f serverFlags) (settings, store.Store, error) {
	s, opened, err := openBy(ctx, store.OpenReadOnly, verb, f)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no database at %s yet. sayso serve creates it", s.Database)
	}
	return s, opened, err
}

func openBy(ctx context.Context, open func(context.Context, string) (store.Store, error), verb string, f serverFlags) (settings, store.Store, error) {
	s, err := f.settings(verb)
	if err != nil {
		return s, nil, err
	}
	opened, err := open(ctx, s.Database)
	return s, opened, err
}
