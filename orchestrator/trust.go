package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/claude/folder"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// ErrUntrusted is what every [UntrustedError] is.
var ErrUntrusted = errors.New("nobody has trusted the settings of this folder as they are")

// UntrustedError says what the CLI would take from a folder without asking anybody.
type UntrustedError struct {
	Folder string
	// Digest names exactly these items; it comes back as the consent of a person.
	Digest string
	Items  []FolderItem
	Gone   []FolderItem // that were trusted and are there no longer
	Told   []string     // files that only tell the model something
	Before *workspace.Trust
	// CannotLeaveOut: a session without these settings would run some of it even so.
	CannotLeaveOut bool
}

func (e *UntrustedError) Error() string        { return e.Sentence() }
func (e *UntrustedError) Is(target error) bool { return target == ErrUntrusted }

// Sentence says it to a person.
func (e *UntrustedError) Sentence() string {
	if e.Before != nil {
		return fmt.Sprintf("The settings of %s have changed since they were trusted. Look at what they would run, then start again.", e.Folder)
	}
	return fmt.Sprintf("The folder %s has settings that would run programs or change what Claude may do. Look at them, then start again.", e.Folder)
}

// FolderItem is one thing that the CLI would take from a folder.
type FolderItem struct {
	Kind   string // hook, mcp_server, variable, helper, rule, setting, agent, command, skill, git, unreadable
	Danger string // runs, redirects, permits, changes
	File   string
	Name   string // of the event, the server, the variable, the setting; may be ""
	Text   string // the command, the value, the rule
	Cut    bool   // Text is not whole
	New    bool   // it was not there, or was another, when the folder was trusted last
}

// Consent is what a person says about the settings of a folder, having seen them.
// The zero Consent says nothing.
type Consent struct {
	Trust    string // the digest of what they have seen and want
	LeaveOut bool   // run without them
}

// settingsPlan is what a process takes from its folder.
type settingsPlan struct {
	digest    string // that was trusted; "" when there was nothing to trust
	leaveOut  bool
	variables map[string]string // with leaveOut
}

// readFolder reads what the CLI would take from a folder.
func (o *Orchestrator) readFolder(ctx context.Context, cwd string) (folder.Found, error) {
	allowed, err := o.allowedIn(ctx, cwd)
	if err != nil {
		return folder.Found{}, err
	}
	var found folder.Found
	err = o.o.CLI.As(func() (err error) {
		found, err = folder.Read(cwd, folder.Known{Own: o.o.CLI.OwnFolders(), Home: o.o.CLI.Getenv("HOME"), Allowed: allowed})
		return err
	})
	if err != nil {
		return folder.Found{}, &InvalidError{Field: "cwd", Sentence: fmt.Sprintf("It cannot be told what the settings of %s would run, so Claude is not started there: %v.", cwd, err)}
	}
	return found, nil
}

// allowedIn are the rules in the settings of a folder that people granted here: who
// had the CLI write one down need not be asked about it.
func (o *Orchestrator) allowedIn(ctx context.Context, cwd string) (map[string][]string, error) {
	grants, err := o.o.Store.Grants(ctx, pending.GrantQuery{})
	if err != nil {
		return nil, fmt.Errorf("orchestrator: grants in a folder: %w", err)
	}
	allowed := map[string][]string{}
	for _, g := range grants {
		name := map[pending.Scope]string{pending.ScopeLocal: "settings.local.json", pending.ScopeProject: "settings.json"}[g.Scope]
		if g.Folder == cwd && g.Kind == pending.GrantRule && g.RequestID != "" && g.RevokedAt.IsZero() && name != "" {
			file := filepath.Join(cwd, ".claude", name)
			allowed[file] = append(allowed[file], g.Rule)
		}
	}
	return allowed, nil
}

// settle decides what a process takes from its folder: an [UntrustedError] when
// nobody has said that yet. What a person says is stored, and on record.
func (o *Orchestrator) settleTrust(ctx context.Context, s session.Session, out bool, c Consent, by pending.Actor) (settingsPlan, error) {
	found, err := o.readFolder(ctx, s.CWD)
	if err != nil {
		return settingsPlan{}, err
	}
	if s.Demo || c.LeaveOut || out && c.Trust == "" {
		return leavingOut(s, found)
	}
	if found.Digest == "" {
		return settingsPlan{}, nil
	}
	if c.Trust == found.Digest {
		items, err := json.Marshal(found.Items)
		if err == nil {
			err = o.o.Store.PutTrust(ctx, workspace.Trust{Folder: s.CWD, Digest: found.Digest, Items: items, By: by, At: time.Now()})
		}
		if err != nil {
			return settingsPlan{}, fmt.Errorf("orchestrator: trust a folder: %w", err)
		}
		o.o.Log.InfoContext(ctx, "a folder is trusted", "folder", s.CWD, "digest", found.Digest, "by", by.Name)
		return settingsPlan{digest: found.Digest}, nil
	}
	before, known, err := o.o.Store.Trust(ctx, s.CWD)
	switch {
	case err != nil:
		return settingsPlan{}, fmt.Errorf("orchestrator: trust in a folder: %w", err)
	case !known:
		return settingsPlan{}, untrusted(s.CWD, found, nil)
	case before.Digest != found.Digest:
		return settingsPlan{}, untrusted(s.CWD, found, &before)
	}
	return settingsPlan{digest: found.Digest}, nil
}

func leavingOut(s session.Session, found folder.Found) (settingsPlan, error) {
	variables, ok := found.LeaveOut()
	if !ok && !s.Demo { // whose folder is ours
		return settingsPlan{}, untrusted(s.CWD, found, nil)
	}
	return settingsPlan{leaveOut: true, variables: variables}, nil
}

// TrustedFolder is one whose settings somebody trusts as they were then.
type TrustedFolder struct {
	Folder, Digest, By string
	At                 time.Time
	Items              []FolderItem
}

// TrustedFolders are all of them, what was trusted last first.
func (o *Orchestrator) TrustedFolders(ctx context.Context) ([]TrustedFolder, error) {
	all, err := o.o.Store.AllTrusts(ctx)
	if err != nil {
		return nil, fmt.Errorf("orchestrator: trusted folders: %w", err)
	}
	list := make([]TrustedFolder, 0, len(all))
	for _, t := range all {
		one := TrustedFolder{Folder: t.Folder, Digest: t.Digest, By: t.By.Name, At: t.At}
		var items []folder.Item
		_ = json.Unmarshal(t.Items, &items) // of an older version: the digest still says what it was
		for _, i := range items {
			one.Items = append(one.Items, itemOf(i))
		}
		list = append(list, one)
	}
	return list, nil
}

// Distrust takes the trust in a folder back, as it was seen in the list: the next
// start there asks again. known is false when there is none of that digest.
func (o *Orchestrator) Distrust(ctx context.Context, folder, digest string, by pending.Actor) (known bool, err error) {
	t, known, err := o.o.Store.Trust(ctx, folder)
	if err == nil && known {
		t.Digest = digest
		known, err = o.o.Store.Distrust(ctx, t, by, time.Now())
	}
	if err != nil {
		return false, fmt.Errorf("orchestrator: distrust a folder: %w", err)
	}
	if known {
		o.o.Log.InfoContext(ctx, "a folder is trusted no longer", "folder", folder, "digest", digest, "by", by.Name)
	}
	return known, nil
}

// recheckSettings looks again in the moment before the CLI is started: what was trusted may
// have been changed since.
func (p *process) recheckSettings(ctx context.Context) error {
	found, err := p.o.readFolder(ctx, p.session.CWD)
	if err != nil {
		return err
	}
	if p.plan.settings.leaveOut {
		p.plan.settings, err = leavingOut(p.session, found)
		return err
	}
	if found.Digest != p.plan.settings.digest && found.Digest != "" {
		return untrusted(p.session.CWD, found, nil)
	}
	return nil
}

func untrusted(cwd string, found folder.Found, before *workspace.Trust) error {
	e := &UntrustedError{Folder: cwd, Digest: found.Digest, Told: found.Told, Before: before, CannotLeaveOut: found.Stubborn}
	var trusted []folder.Item
	if before != nil {
		_ = json.Unmarshal(before.Items, &trusted) // of which nothing can be read, everything is new
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
	return FolderItem{Kind: string(i.Kind), Danger: string(i.Danger), File: i.File, Name: i.Name, Text: i.Text, Cut: i.Cut}
}

// Consent takes what a person says about the settings of a session's folder. It
// holds from the next process on.
func (o *Orchestrator) Consent(ctx context.Context, sessionID string, c Consent, by pending.Actor) error {
	s, err := o.ownSession(ctx, sessionID)
	if err != nil {
		return err
	}
	if _, err := o.settleTrust(ctx, s, false, c, by); err != nil {
		return err
	}
	if err := o.o.Store.LeaveOut(ctx, sessionID, c.LeaveOut); err != nil {
		return fmt.Errorf("orchestrator: leave out settings: %w", err)
	}
	return nil
}

// nextSettings decides for a session that is there what its next process takes.
func (o *Orchestrator) nextSettings(ctx context.Context, s session.Session) (settingsPlan, error) {
	out, err := o.o.Store.LeftOut(ctx, s.SessionID)
	if err != nil {
		return settingsPlan{}, fmt.Errorf("orchestrator: settings of a session: %w", err)
	}
	return o.settleTrust(ctx, s, out, Consent{}, pending.Actor{})
}

// changedMeanwhile is what people read of a session that would have gone on by
// itself.
const changedMeanwhile = "The settings of this session's folder are not those that somebody trusted, so Claude was not started by itself. Resume the session to look at them."

// explainDelay has a session that does not go on by itself say why. It does so once:
// whoever is told of a change would try again.
func (o *Orchestrator) explainDelay(ctx context.Context, sessionID string, why error) error {
	var full *project.LimitError
	sentence := changedMeanwhile
	switch {
	case errors.As(why, &full):
		return o.waitForCapacity(ctx, sessionID, full)
	case errors.Is(why, errAsksNobody):
		sentence = asksNobody
	case !errors.Is(why, ErrUntrusted):
		return why
	}
	state, err := o.o.Store.ProcessState(ctx, sessionID)
	if err != nil || state.Running() || state.Error == sentence {
		return err
	}
	state.Error = sentence
	if _, err := o.o.Store.SaveProcess(ctx, state); err != nil {
		return err
	}
	o.o.Bell.Ring(sessionID)
	return nil
}
