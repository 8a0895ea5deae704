package pending

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/rule"
)

// GrantKind says what a [Grant] lets Claude do without asking.
type GrantKind string

const (
	GrantRule      GrantKind = "rule"      // what a permission rule covers
	GrantDirectory GrantKind = "directory" // work in a folder
	GrantMode      GrantKind = "mode"      // what a permission mode allows
)

// Scope says where a grant holds. The words are those of the CLI.
type Scope string

const (
	ScopeSession Scope = "session"         // the process that asked
	ScopeLocal   Scope = "localSettings"   // the folder, for the person whose CLI it is
	ScopeProject Scope = "projectSettings" // the folder, for everybody who works in it
	ScopeUser    Scope = "userSettings"    // every folder
)

// Grant is one "always allow": what a person said beside an approval so that
// Claude does not ask again.
type Grant struct {
	GrantID   string // UUID; for a grant of an answer it follows from the request
	Kind      GrantKind
	Rule      string // as settings files hold it; a folder; or a mode
	Scope     Scope
	Folder    string // of the session, whose settings file it is in for ScopeLocal and ScopeProject
	SessionID string // that asked, "" for what was found in a settings file
	ProcessID string // that asked, "" when no process of ours did
	RequestID string // "" for what was found in a settings file
	ToolName  string // that was approved with it
	By        Actor
	At        time.Time
	// Uses counts the calls that were allowed without asking and that it covers. The
	// CLI does not name the rule that it went by, so this is inferred.
	Uses       int
	LastUsedAt time.Time // zero when it was never used
	RevokedAt  time.Time // zero while it was not taken back
	RevokedBy  string    // name
}

// GrantUse is some uses of a grant.
type GrantUse struct {
	GrantID string
	Uses    int
	LastAt  time.Time
}

// GrantQuery selects grants, the newest first.
type GrantQuery struct {
	GrantID      string    // "" for all
	RequestID    string    // "" for all
	UserID       string    // of who made them, "" for everybody
	RevokedSince time.Time // only those taken back then or later; zero for those that are not
	All          bool      // both those taken back and those that are not
	Limit        int       // at most; 1000 when 0
}

// GrantStore remembers grants. The store writes them by itself, in the
// transaction of the answer that they come with.
type GrantStore interface {
	Grants(ctx context.Context, q GrantQuery) ([]Grant, error)
	// UseGrants adds uses; it need not survive a power cut.
	UseGrants(ctx context.Context, uses []GrantUse) error
	// RevokeGrant marks as taken back every grant of that kind and rule in that
	// place, which is stored when it is not known, and puts it on record. It returns
	// how many were in force, and survives a power cut.
	RevokeGrant(ctx context.Context, g Grant, by Actor, at time.Time) (int, error)
}

// grantNamespace keeps ids of grants apart from every other UUIDv5.
var grantNamespace = uuid.MustParse("0d0a0f9a-58d3-5e0c-9b7c-5f3f0f1e7b53")

// FoundGrantID is the id of a grant that is not one of ours, but stands in a
// settings file.
func FoundGrantID(g Grant) string {
	return uuid.NewSHA1(grantNamespace, []byte(string(g.Scope)+"\x00"+g.Folder+"\x00"+string(g.Kind)+"\x00"+g.Rule)).String()
}

// maxGrants bounds how many grants one answer makes; the CLI suggests a few.
const maxGrants = 1000

// permission is one entry of Answer.UpdatedPermissions.
type permission struct {
	Type  string `json:"type"`
	Rules []struct {
		ToolName    string `json:"toolName"`
		RuleContent string `json:"ruleContent"`
	} `json:"rules"`
	Behavior    string   `json:"behavior"`
	Directories []string `json:"directories"`
	Mode        string   `json:"mode"`
	Destination Scope    `json:"destination"`
}

// GrantsOf are the grants that an answer makes, without the folder, which the
// session knows.
func GrantsOf(r Request, res Resolution) []Grant {
	if res.Answer == nil || len(res.Answer.UpdatedPermissions) == 0 {
		return nil
	}
	var list []permission
	if json.Unmarshal(res.Answer.UpdatedPermissions, &list) != nil {
		return nil // none that the CLI would take
	}
	var grants []Grant
	add := func(kind GrantKind, text string, scope Scope) {
		if len(grants) == maxGrants || text == "" {
			return
		}
		grants = append(grants, Grant{
			GrantID: uuid.NewSHA1(grantNamespace, []byte(r.RequestID+"/"+strconv.Itoa(len(grants)))).String(),
			Kind:    kind, Rule: text, Scope: scope, SessionID: r.SessionID, ProcessID: r.ProcessID,
			RequestID: r.RequestID, ToolName: r.ToolName, By: res.Actor, At: res.At,
		})
	}
	for _, p := range list {
		switch {
		case p.Type == "addRules" && p.Behavior == "allow":
			for _, r := range p.Rules {
				add(GrantRule, rule.Rule{Tool: r.ToolName, Content: r.RuleContent}.String(), p.Destination)
			}
		case p.Type == "addDirectories":
			for _, dir := range p.Directories {
				add(GrantDirectory, dir, p.Destination)
			}
		case p.Type == "setMode" && p.Mode != "default" && p.Mode != "plan": // in these two Claude asks
			add(GrantMode, p.Mode, p.Destination)
		}
	}
	return grants
}
