package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/sayso-dev/sayso/frontend"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// announce prints the address of the server and how to sign in. The server must be reachable. If a
// demo was requested, announce starts its session, and the printed link opens it.
func (a *app) announce(ctx context.Context) error {
	stdout, s := a.in.stdout, a.settings
	path := "" // of the demo session
	if a.in.demo {
		id, err := a.orchestrator.Start(ctx, orchestrator.StartRequest{Demo: true, By: pending.Actor{UserID: a.admin.UserID, Name: a.admin.Name}})
		if err != nil {
			return fmt.Errorf("cannot start the demo: %w", err)
		}
		path = "/sessions/" + id
	}
	unclaimed, err := a.directory.Unclaimed(ctx)
	if err != nil {
		return err
	}
	if unclaimed {
		secret, err := a.directory.NewSignInLink(ctx, a.admin.UserID)
		if err != nil {
			return err
		}
		// The link of an unclaimed server works only on its own machine.
		fmt.Fprintf(stdout, "sayso is running at %s\n\nSign in with this link once, within %s:\n\n    %s\n\n", localAddress(s), signInLinkTTL, signInAddress(addressesOf(s).local, path, secret))
		if !a.in.demo {
			fmt.Fprint(stdout, "The link creates the first admin account. Open it on this machine. Nobody else can sign in yet.\n\n")
		}
	} else {
		// Logs keep the output of a start, and this link would sign in an admin.
		fmt.Fprintf(stdout, "sayso is running at %s\n\nOpen %s to sign in. To get a one-time sign-in link for an admin, run: sayso token --sign-in%s\n\n", address(s), addressesOf(s).outside+path, a.stateFlag())
	}
	if !frontend.Built() {
		fmt.Fprintf(stdout, "%s\n\n", frontend.NotBuilt)
	}
	if !s.LocalRunner {
		all, err := a.store.Runners(ctx)
		if err == nil && !slices.ContainsFunc(all, isRemote) {
			fmt.Fprintf(stdout, "Sessions start only on machines that are connected to this server, and there is none yet. To add one, run: sayso token --runner NAME%s\n\n", a.stateFlag())
		}
		return err
	}
	// The demo needs no account.
	if e := a.orchestrator.Orchestrator.Environment(ctx); e.Problem != "" && (!a.in.demo || !e.DemoAvailable) {
		fmt.Fprintf(stdout, "%s\n", e.Problem)
		if e.DemoAvailable {
			fmt.Fprintln(stdout, "Until then, you can try the demo session in the web app. It runs the real Claude CLI with a scripted model.")
		}
		fmt.Fprintln(stdout)
	}
	return nil
}

// isRemote reports whether a runner is on another host and was not removed.
func isRemote(r session.Runner) bool { return r.Remote && r.RemovedAt.IsZero() }

// stateFlag returns the flag that other commands need to find this server, "" if they need none.
func (a *app) stateFlag() string {
	if a.settings.StateDir == defaultStateDir(a.in.getenv) {
		return ""
	}
	return " --state-dir " + shellWord(a.settings.StateDir)
}
