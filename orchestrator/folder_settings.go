package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/sayso-dev/sayso/claude/folder"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// ErrUntrusted is the class of every [UntrustedError].
var ErrUntrusted = errors.New("nobody has trusted the settings of this folder as they are")

// UntrustedError lists what the CLI would load from a folder without asking.
type UntrustedError struct {
	Folder string
	// Digest identifies exactly these items. A person's consent contains it.
	Digest       string
	Items        []FolderItem
	Gone         []FolderItem // that were trusted and no longer exist
	Instructions []string     // files that only instruct the model
	Before       *workspace.Trust
	// CannotLeaveOut is set if even a session without these settings would run some of them.
	CannotLeaveOut bool
	// NeverLoaded is set if the runner does not load these settings, whoever trusts them.
	NeverLoaded bool
}

func (e *UntrustedError) Error() string        { return e.Problem().Message }
func (e *UntrustedError) Is(target error) bool { return target == ErrUntrusted }

// Problem returns the message for people.
func (e *UntrustedError) Problem() *problem.Error {
	if e.NeverLoaded {
		return problem.New("folder_never_loaded", "folder", e.Folder)
	}
	if e.Before != nil {
		return problem.New("folder_changed_settings", "folder", e.Folder)
	}
	return problem.New("folder_new_settings", "folder", e.Folder)
}

// FolderItem is an item that the CLI would load from a folder.
type FolderItem struct {
	Kind   string // hook, mcp_server, variable, helper, rule, setting, agent, command, skill, git, unreadable
	Danger string // what the item can do: runs, redirects, permits, changes
	File   string
	Name   string // of the event, the server, the variable, the setting; may be ""
	Text   string // the command, the value, the rule
	Cut    bool   // Text is truncated
	New    bool   // new or changed since the folder was last trusted
}

// Consent is a person's decision about the settings of a folder. The zero Consent decides
// nothing.
type Consent struct {
	Trust    string // digest of the items that the person trusts
	LeaveOut bool   // run without the items
}

// folderSettings describes what a process loads from its folder.
type folderSettings struct {
	digest    string // of the trusted items; "" if there was nothing to trust
	leaveOut  bool
	variables map[string]string // that disable the rest; with leaveOut
	// checkedAtStart is set if the runner itself compares the digest when it starts the CLI.
	checkedAtStart bool
}

// readFolder reads what the CLI would load from a folder.
func (o *node) readFolder(ctx context.Context, cwd string) (launch.FolderSettings, error) {
	granted, err := o.grantedIn(ctx, cwd)
	if err != nil {
		return launch.FolderSettings{}, err
	}
	found, err := o.runner.FolderSettings(ctx, cwd, granted)
	if errors.Is(err, syscall.EMFILE) {
		if short := o.o.Launcher.CheckMachine(ctx); short != nil {
			return launch.FolderSettings{}, short
		}
	}
	if err != nil {
		return launch.FolderSettings{}, problem.For("cwd", "folder_unreadable_settings", "folder", cwd, "detail", err.Error())
	}
	return found, nil
}

// grantedIn returns the rules in a folder's settings that people granted through sayso, by scope.
// They need no trust, because people had the CLI write them.
func (o *node) grantedIn(ctx context.Context, cwd string) (map[pending.Scope][]string, error) {
	grants, err := o.o.Store.Grants(ctx, pending.GrantQuery{})
	if err != nil {
		return nil, fmt.Errorf("orchestrator: grants in a folder: %w", err)
	}
	rules := map[pending.Scope][]string{}
	for _, g := range grants {
		inFolder := g.Folder == cwd && (g.Scope == pending.ScopeLocal || g.Scope == pending.ScopeProject)
		if inFolder && g.Kind == pending.GrantRule && g.RequestID != "" && g.RevokedAt.IsZero() {
			rules[g.Scope] = append(rules[g.Scope], g.Rule)
		}
	}
	return rules, nil
}

func withoutSettings(s session.Session, found launch.FolderSettings) (folderSettings, error) {
	variables, ok := found.OverrideVariables()
	if !ok && !s.Demo { // the demo's folder is ours
		return folderSettings{}, untrusted(s.CWD, found, nil)
	}
	return folderSettings{leaveOut: true, variables: variables, checkedAtStart: found.CheckedAtStart}, nil
}

// recheckSettings reads the folder again right before the CLI starts, because the folder may have
// changed since it was trusted. Current runners check this themselves; only for runners of earlier
// releases does the server do it.
func (o *node) recheckSettings(ctx context.Context, s session.Session, plan folderSettings) (folderSettings, error) {
	if plan.checkedAtStart {
		return plan, nil
	}
	found, err := o.readFolder(ctx, s.CWD)
	switch {
	case err != nil:
		return plan, err
	case plan.leaveOut:
		return withoutSettings(s, found)
	case found.Digest != plan.digest && found.Digest != "":
		return plan, untrusted(s.CWD, found, nil)
	}
	return plan, nil
}

func untrusted(cwd string, found launch.FolderSettings, before *workspace.Trust) error {
	e := &UntrustedError{
		Folder: cwd, Digest: found.Digest, Instructions: found.Instructions, Before: before, CannotLeaveOut: found.CannotOverride, NeverLoaded: found.NeverLoaded,
	}
	var trusted []folder.Item
	if before != nil {
		_ = json.Unmarshal(before.Items, &trusted) // if it cannot be parsed, everything is new
	}
	for _, i := range found.Items {
		item := itemOf(i)
		item.New = before != nil && !slices.Contains(trusted, i)
		e.Items = append(e.Items, item)
	}
	for _, i := range trusted {
		if !slices.Contains(found.Items, i) {
			e.Gone = append(e.Gone, itemOf(i))
		}
	}
	return e
}

func itemOf(i folder.Item) FolderItem {
	return FolderItem{Kind: string(i.Kind), Danger: string(i.Danger), File: i.File, Name: i.Name, Text: i.Text, Cut: i.Truncated}
}
