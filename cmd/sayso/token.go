package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/sayso-dev/sayso/account"
)

// token makes an API token or a sign-in address, in the database that the server
// uses; the server may be running.
func token(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("sayso token", flag.ContinueOnError)
	flags.SetOutput(stderr)
	signIn := flags.Bool("sign-in", false, "print a one-time sign-in address for a browser")
	name := flags.String("name", "", "name of the token, shown to others")
	role := flags.String("role", "", "viewer, member or admin (default: as the first admin)")
	life := flags.Duration("expires", 0, "how long the token is good for, such as 720h (default: until revoked)")
	stateDir := flags.String("state-dir", "", "state folder of the server")
	database := flags.String("database", "", "database of the server")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	s, directory, done, err := openDirectory(ctx, "token", *stateDir, *database, stderr)
	if err != nil {
		return err
	}
	defer done()
	admin, err := directory.FirstAdmin(ctx)
	if err != nil {
		return err
	}
	if *signIn {
		secret, err := directory.NewSignInLink(ctx, admin.UserID)
		if err != nil {
			return err
		}
		fmt.Fprintln(stdout, signInAddress(s, secret))
		return nil
	}
	if *name == "" {
		return errors.New("give the token a name with --name, or ask for a sign-in address with --sign-in")
	}
	_, secret, err := directory.CreateToken(ctx, admin, *name, account.Role(*role), *life)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, secret)
	fmt.Fprintln(stderr, "This is shown once. Send it as: Authorization: Bearer TOKEN")
	return nil
}

// signInAddress puts the secret behind the #, which browsers do not send.
func signInAddress(s settings, secret string) string {
	return address(s) + "/sign-in#" + secret
}

// address is where a browser on this machine finds the server.
func address(s settings) string {
	scheme := "http"
	if s.TLSCert != "" {
		scheme = "https"
	}
	return scheme + "://" + s.Listen
}

// signInLife is said to people in words.
var signInLife = fmt.Sprintf("%.0f minutes", account.SignInLinkLife.Round(time.Minute).Minutes())
