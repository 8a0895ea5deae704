package pending

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/rule"
)

// GrantKind is the kind of a [Grant].
type GrantKind string

const (
	GrantRule      GrantKind = "rule"      // calls that a permission rule covers
	GrantDirectory GrantKind = "directory" // work in a folder
	GrantMode      GrantKind = "mode"      // what a permission mode allows
)

// Scope is where a grant applies, in the CLI's terms.
type Scope string

const (
	ScopeSession Scope = "session"         // the process that asked
	ScopeLocal   Scope = "localSettings"   // the folder, for the CLI's user
	ScopeProject Scope = "projectSettings" // the folder, for everybody who works in it
	ScopeUser    Scope = "userSettings"    // every folder
)

// Grant is a permission that a person gave with an approval ("always allow") so that Claude
// does not ask again.
type Grant struct {
	GrantID   string // UUID; derived from the request for a grant that came with an answer
	Kind      GrantKind
	Rule      string // a rule as settings files contain it, a folder, or a mode
	Scope     Scope
	Folder    string // of the session; for ScopeLocal and ScopeProject its settings file contains the grant
	SessionID string // session that asked, "" for a grant found in a settings file
	ProcessID string // process that asked, "" when it was not ours
	RequestID string // "" for a grant found in a settings file
	ToolName  string // tool that was approved with it
	By        Actor
	At        time.Time
	// Uses counts the calls that the grant covers and that ran without asking. The CLI does
	// not report the rule it applied, so this is inferred.
	Uses       int
	LastUsedAt time.Time // zero when it was never used
	RevokedAt  time.Time // zero unless it was revoked
	RevokedBy  string    // name
}

// GrantUse is a number of uses of a grant.
type GrantUse struct {
	GrantID string
	Uses    int
	LastAt  time.Time
}

// GrantQuery selects grants, the newest first.
type GrantQuery struct {
	GrantID      string    // "" for all
	RequestID    string    // "" for all
	UserID       string    // of the person who gave them, "" for everybody
	RevokedSince time.Time // only grants revoked at that time or later; zero for those in force
	All          bool      // both revoked grants and those in force
	Limit        int       // maximum number; 0 means 1000
}

// GrantStore stores grants. The store itself inserts them in the transaction of their answer.
type GrantStore interface {
	Grants(ctx context.Context, q GrantQuery) ([]Grant, error)
	// UseGrants adds uses; they may be lost in a power cut.
	UseGrants(ctx context.Context, uses []GrantUse) error
	// RevokeGrant revokes every grant with the kind, rule and place of g, stores g as revoked if
	// it is unknown, and adds an audit record. It returns the number of grants that were in
	// force. The change survives a power cut.
	RevokeGrant(ctx context.Context, g Grant, by Actor, at time.Time) (int, error)
}

// grantNamespace separates the ids of grants from all other version 5 UUIDs.
var grantNamespace = uuid.MustParse("0d0a0f9a-58d3-5e0c-9b7c-5f3f0f1e7b53")

// FoundGrantID returns the id of a grant that was found in a settings file.
func FoundGrantID(g Grant) string {
	return uuid.NewSHA1(grantNamespace, []byte(string(g.Scope)+"\x00"+g.Folder+"\x00"+string(g.Kind)+"\x00"+g.Rule)).String()
}

// maxGrants bounds the grants of one answer; the CLI suggests a few.
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

// GrantsOf returns the grants of an answer, without the folder, which the session knows.
func GrantsOf(r Request, res Resolution) []Grant {
	if res.Answer == nil || len(res.Answer.UpdatedPermissions) == 0 {
		return nil
	}
	var list []permission
	if json.Unmarshal(res.Answer.UpdatedPermissions, &list) != nil {
		return nil // the CLI would not accept them
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
		case p.Type == "setMode" && p.Mode != "default" && p.Mode != "plan": // in these two modes Claude asks
			add(GrantMode, p.Mode, p.Destination)
		}
	}
	return grants
}
