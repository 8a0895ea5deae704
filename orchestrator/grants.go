package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/config"
	"github.com/sayso-dev/sayso/claude/rule"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Revocation says what taking a grant back has changed.
type Revocation struct {
	Grants int      // that were in force and are not any more
	Files  []string // from which it was taken
	Asking int      // running processes that ask again from now on
	// Until are sentences about where it holds on for a while, and for how long.
	Until []string
}

func (r *Revocation) add(more Revocation) {
	r.Grants += more.Grants
	r.Asking = max(r.Asking, more.Asking)
	r.Files = append(r.Files, more.Files...)
	r.Until = append(r.Until, more.Until...)
}

// RevokeGrant takes a grant of an answer back: from the settings file that it is
// in, from the processes that run, and from what is in force. Again it changes
// nothing. [pending.ErrNotFound] when there is no such grant.
func (o *Orchestrator) RevokeGrant(ctx context.Context, grantID string, by pending.Actor) (Revocation, error) {
	list, err := o.o.Store.Grants(ctx, pending.GrantQuery{GrantID: grantID, All: true})
	if err == nil && len(list) == 0 {
		err = pending.ErrNotFound
	}
	if err != nil {
		return Revocation{}, fmt.Errorf("orchestrator: revoke grant %s: %w", grantID, err)
	}
	if !list[0].RevokedAt.IsZero() {
		return Revocation{}, nil
	}
	return o.revoke(ctx, list[0], by)
}

// RevokeAnswer takes back all that was granted together with the answer to a
// request.
func (o *Orchestrator) RevokeAnswer(ctx context.Context, requestID string, by pending.Actor) (done Revocation, err error) {
	list, err := o.o.Store.Grants(ctx, pending.GrantQuery{RequestID: requestID})
	if err != nil {
		return Revocation{}, fmt.Errorf("orchestrator: revoke the grants of request %s: %w", requestID, err)
	}
	for _, g := range list {
		one, err := o.revoke(ctx, g, by)
		if err != nil {
			return done, err
		}
		done.add(one)
	}
	return done, nil
}

// RevokeFound takes a rule or a folder back that stands in a settings file and
// was not granted here. Errors are [pending.ErrNotFound] and an [InvalidError].
func (o *Orchestrator) RevokeFound(ctx context.Context, g pending.Grant, by pending.Actor) (Revocation, error) {
	found, err := o.FoundGrants(ctx)
	if err != nil {
		return Revocation{}, err
	}
	for _, f := range found.Grants {
		if f.Kind == g.Kind && f.Rule == g.Rule && f.Scope == g.Scope && f.Folder == g.Folder {
			f.At = time.Now()
			return o.revoke(ctx, f.Grant, by)
		}
	}
	return Revocation{}, fmt.Errorf("orchestrator: revoke what a file grants: %w", pending.ErrNotFound)
}

// revoke goes from the file to the processes to the store: what dies in between
// is done again by whoever asks again.
func (o *Orchestrator) revoke(ctx context.Context, g pending.Grant, by pending.Actor) (done Revocation, err error) {
	for _, path := range o.settingsFiles(g.Scope, g.Folder) {
		var taken bool
		err := o.o.CLI.As(func() (err error) {
			taken, err = takeFromFile(ctx, path, g)
			return err
		})
		if err != nil {
			return done, &InvalidError{Field: "grant", Sentence: fmt.Sprintf("The rule could not be taken out of a settings file, so it holds on: %v.", err)}
		}
		if taken {
			done.Files = append(done.Files, path)
		}
	}
	now := time.Now()
	for _, p := range o.concerned(g) {
		asks, err := p.takeBack(ctx, g)
		switch {
		case err != nil && !errors.Is(err, ErrNotRunning):
			p.log.WarnContext(ctx, "cannot make Claude ask again at once", "rule", g.Rule, "error", err)
			done.Until = append(done.Until, "A running session could not be told. It may go by this rule until its process ends.")
		case asks:
			done.Asking++
		case err == nil && g.Kind == pending.GrantDirectory:
			done.Until = append(done.Until, "A running session may work in this folder until you next approve something in it, or its process ends.")
		}
	}
	if g.Scope == pending.ScopeSession && g.ProcessID == "" {
		done.Until = append(done.Until, "It was given to a Claude that sayso does not run, and holds there until that one ends.")
	}
	if done.Grants, err = o.o.Store.RevokeGrant(ctx, g, by, now); err != nil {
		return done, fmt.Errorf("orchestrator: revoke grant %s: %w", g.GrantID, err)
	}
	o.grantsChanged(ctx)
	return done, nil
}

// takeFromFile takes what a grant allows out of a settings file; a file that is
// not there holds nothing.
func takeFromFile(ctx context.Context, path string, g pending.Grant) (taken bool, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = config.Update(ctx, path, func(data []byte) (after []byte, err error) {
		switch g.Kind {
		case pending.GrantRule:
			after, err = config.WithoutRule(data, g.Rule)
		case pending.GrantDirectory:
			after, err = config.WithoutDirectory(data, g.Rule)
		default:
			mode, _ := json.Marshal(g.Rule) // a string is always encoded
			now, err := config.Get(data, "permissions", "defaultMode")
			if err != nil || string(now) != string(mode) {
				return data, nil
			}
			return config.Set(data, nil, "permissions", "defaultMode")
		}
		taken = string(after) != string(data)
		return after, err
	})
	return taken, err
}

// settingsFiles are those in which a grant of that scope may be. Of a folder in a
// Git repository 2.1.197 keeps its own, 2.1.329 the repository's.
func (o *Orchestrator) settingsFiles(scope pending.Scope, folder string) []string {
	name := "settings.json"
	switch scope {
	case pending.ScopeUser:
		return []string{config.Settings(o.o.CLI.Getenv, o.o.CLI.Getenv("HOME"))}
	case pending.ScopeLocal:
		name = "settings.local.json"
	case pending.ScopeProject:
	default:
		return nil
	}
	if folder == "" {
		return nil
	}
	files := []string{filepath.Join(folder, ".claude", name)}
	if root, err := config.Project(folder); err == nil && root != folder {
		files = append(files, filepath.Join(root, ".claude", name))
	}
	return files
}

// concerned are the running processes in which a grant holds.
func (o *Orchestrator) concerned(g pending.Grant) []*process {
	o.mu.Lock()
	running := make([]*process, 0, len(o.processes))
	for _, p := range o.processes {
		running = append(running, p)
	}
	o.mu.Unlock()
	root := projectOf(g.Folder)
	return slices.DeleteFunc(running, func(p *process) bool { return !p.goesBy(g, root) })
}

// goesBy reports whether a grant holds in the process. root is the project of its
// folder.
func (p *process) goesBy(g pending.Grant, root string) bool {
	switch g.Scope {
	case pending.ScopeUser:
		return true
	case pending.ScopeSession:
		return g.SessionID == p.session.SessionID && (g.ProcessID == "" || g.ProcessID == p.processID)
	}
	return g.Folder == p.session.CWD || projectOf(p.session.CWD) == root
}

func projectOf(folder string) string {
	if root, err := config.Project(folder); err == nil {
		return root
	}
	return folder
}

// takeBack makes the process ask again for what a grant allowed. asks says that it
// does so from now on.
//
// The CLI has no request that takes a rule away. A rule to ask, which outranks
// one to allow, does at once what people want; the rule itself goes with the next
// approval, see [process.withTaken].
func (p *process) takeBack(ctx context.Context, g pending.Grant) (asks bool, err error) {
	if g.Kind == pending.GrantMode {
		if p.snapshot().row.PermissionMode != g.Rule {
			return false, nil
		}
		return true, p.setPermissionMode(ctx, "default")
	}
	p.mu.Lock()
	if !slices.ContainsFunc(p.taken, func(t pending.Grant) bool { return sameGrant(t, g) }) {
		p.taken = append(p.taken, g)
	}
	p.mu.Unlock()
	if g.Kind != pending.GrantRule {
		return false, nil
	}
	return true, p.askAgain(ctx)
}

func sameGrant(a, b pending.Grant) bool {
	return a.Kind == b.Kind && a.Rule == b.Rule && a.Scope == b.Scope
}

// askAgain tells the CLI the rules that were taken back and that it may still
// know.
func (p *process) askAgain(ctx context.Context) error {
	client := p.clientNow()
	if client == nil {
		return ErrNotRunning
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
	defer cancel()
	select { // one at a time, or an older list might come last
	case p.telling <- struct{}{}:
		defer func() { <-p.telling }()
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	var ask []string
	for _, g := range p.taken {
		if g.Kind == pending.GrantRule {
			ask = append(ask, g.Rule)
		}
	}
	p.mu.Unlock()
	settings := map[string]any{"permissions": nil}
	if len(ask) > 0 {
		settings["permissions"] = map[string]any{"ask": ask}
	}
	if err := client.ApplySettings(ctx, settings); err != nil {
		return fmt.Errorf("orchestrator: make Claude ask again: %w", err)
	}
	return nil
}

// withTaken adds to what an approval grants that the CLI forget what was taken
// back, and returns what will have been settled once the CLI has it: of rules in
// files the CLI learns from the file, and the rest is said here.
func (p *process) withTaken(granted json.RawMessage, answer []pending.Grant) (json.RawMessage, []pending.Grant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var settled []pending.Grant
	var list []json.RawMessage
	for _, g := range p.taken {
		again := slices.ContainsFunc(answer, func(a pending.Grant) bool { return sameGrant(a, g) })
		if g.Scope != pending.ScopeSession && !again {
			continue
		}
		settled = append(settled, g)
		if g.Scope == pending.ScopeSession {
			list = append(list, removal(g))
		}
	}
	if len(list) == 0 {
		return granted, settled
	}
	var more []json.RawMessage
	_ = json.Unmarshal(granted, &more) // it is a list, or nothing
	return transcript.Encode(append(list, more...)), settled
}

// removal is the update of permissions that makes the CLI forget a grant.
func removal(g pending.Grant) json.RawMessage {
	if g.Kind == pending.GrantDirectory {
		return transcript.Encode(map[string]any{"type": "removeDirectories", "directories": []string{g.Rule}, "destination": g.Scope})
	}
	r := rule.Parse(g.Rule)
	value := map[string]any{"toolName": r.Tool}
	if r.Content != "" {
		value["ruleContent"] = r.Content
	}
	return transcript.Encode(map[string]any{"type": "removeRules", "rules": []any{value}, "behavior": "allow", "destination": g.Scope})
}

// forgot notes that the CLI got an approval with what it must forget.
func (p *process) forgot(ctx context.Context, settled []pending.Grant) {
	if len(settled) == 0 {
		return
	}
	p.mu.Lock()
	p.taken = slices.DeleteFunc(p.taken, func(g pending.Grant) bool {
		return slices.ContainsFunc(settled, func(s pending.Grant) bool { return sameGrant(s, g) })
	})
	p.mu.Unlock()
	if err := p.askAgain(ctx); err != nil && !errors.Is(err, claude.ErrClosed) && !errors.Is(err, ErrNotRunning) {
		p.log.WarnContext(ctx, "Claude may ask for what was granted again", "error", err)
	}
}

// relearn makes an adopted process ask again for what was taken back since it
// began: only the former server knew.
func (p *process) relearn(ctx context.Context) {
	since := p.snapshot().row.StartedAt
	if since.IsZero() {
		return
	}
	list, err := p.o.o.Store.Grants(ctx, pending.GrantQuery{RevokedSince: since})
	if err != nil {
		p.log.ErrorContext(ctx, "cannot read which grants were taken back", "error", err)
		return
	}
	for _, g := range list {
		if g.Kind == pending.GrantMode || !p.goesBy(g, projectOf(g.Folder)) {
			continue
		}
		p.mu.Lock()
		p.taken = append(p.taken, g)
		p.mu.Unlock()
	}
	p.mu.Lock()
	some := len(p.taken) > 0
	p.mu.Unlock()
	if !some {
		return
	}
	if err := p.askAgain(ctx); err != nil {
		p.log.WarnContext(ctx, "Claude may go by rules that were taken back", "error", err)
	}
}

// grantsChanged reads anew which grants are in force, for counting their uses.
func (o *Orchestrator) grantsChanged(ctx context.Context) {
	list, err := o.o.Store.Grants(ctx, pending.GrantQuery{})
	if err != nil {
		o.o.Log.WarnContext(ctx, "cannot read the grants; their uses are not counted", "error", err)
		return
	}
	o.inForce.Store(&list)
}

// countGrantUse counts a call that ran without asking for the grants that cover it. The
// CLI names none of them: 2.1.329 says that a rule was the reason, 2.1.197 not
// even that.
func (p *process) countGrantUse(call transcript.FinishedCall, m *claude.User) {
	list := p.o.inForce.Load()
	if list == nil || call.ToolName == "" || call.Failed {
		return
	}
	s := p.snapshot()
	_, asked := s.memo.Answered[call.ToolUseID]
	_, asking := s.inFlight[call.ToolUseID]
	mode := s.row.PermissionMode
	if asked || asking || mode == "bypassPermissions" {
		return
	}
	used := rule.Call{Tool: call.ToolName, Input: call.Input, Dir: p.session.CWD, Home: p.o.o.CLI.Getenv("HOME")}
	for _, g := range *list {
		if g.Kind != pending.GrantRule || !rule.Parse(g.Rule).Covers(used) || !p.goesBy(g, projectOf(g.Folder)) {
			continue
		}
		why, told := m.Permission(call.ToolUseID)
		if told && (why.Decision != "accept" || why.Reason != "rule" && why.Reason != "subcommandResults") {
			return
		}
		if !told && mode == "acceptEdits" && rule.Parse("Edit").Covers(used) {
			return
		}
		p.mu.Lock()
		if p.uses == nil {
			p.uses = map[string]int{}
		}
		p.uses[g.GrantID]++
		p.mu.Unlock()
	}
}

// flushUses stores the uses that were counted.
func (p *process) flushUses(ctx context.Context) {
	p.mu.Lock()
	counted := p.uses
	p.uses = nil
	p.mu.Unlock()
	if len(counted) == 0 {
		return
	}
	now := time.Now()
	var uses []pending.GrantUse
	for id, n := range counted {
		uses = append(uses, pending.GrantUse{GrantID: id, Uses: n, LastAt: now})
	}
	if err := p.o.o.Store.UseGrants(ctx, uses); err != nil {
		p.log.WarnContext(ctx, "cannot count the uses of grants", "error", err)
	}
}

// FoundGrant is what a settings file allows.
type FoundGrant struct {
	pending.Grant
	File string
}

// Found is what the settings files allow, and which of them cannot be read.
type Found struct {
	Grants   []FoundGrant
	Problems []string // sentences
}

// foldersLooked bounds for how many sessions the settings of their folder are
// looked at, those of the latest first.
const foldersLooked = 200

// FoundGrants reads what the person's own settings file and those of the folders
// of sessions allow.
func (o *Orchestrator) FoundGrants(ctx context.Context) (Found, error) {
	var found Found
	seen := map[string]bool{}
	look := func(scope pending.Scope, folder string) {
		for _, path := range o.settingsFiles(scope, folder) {
			if seen[path] {
				continue
			}
			seen[path] = true
			var data []byte
			err := o.o.CLI.As(func() (err error) {
				data, err = os.ReadFile(path)
				return err
			})
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && folder != "" {
				continue
			}
			var rules, directories []string
			if err == nil {
				rules, directories, err = config.Granted(data)
			}
			if err != nil {
				found.Problems = append(found.Problems, fmt.Sprintf("%s could not be read: %v.", path, err))
				continue
			}
			add := func(kind pending.GrantKind, texts []string) {
				for _, text := range texts {
					g := FoundGrant{pending.Grant{Kind: kind, Rule: text, Scope: scope, Folder: folder}, path}
					g.GrantID = pending.FoundGrantID(g.Grant)
					found.Grants = append(found.Grants, g)
				}
			}
			add(pending.GrantRule, rules)
			add(pending.GrantDirectory, directories)
		}
	}
	look(pending.ScopeUser, "")
	page, _, err := o.o.Store.Sessions(ctx, session.Query{Archived: true, Limit: foldersLooked})
	if err != nil {
		return Found{}, fmt.Errorf("orchestrator: list sessions: %w", err)
	}
	for _, s := range page {
		if s.Kind == session.Agent || s.CWD == "" {
			continue
		}
		look(pending.ScopeLocal, s.CWD)
		look(pending.ScopeProject, s.CWD)
	}
	return found, nil
}
