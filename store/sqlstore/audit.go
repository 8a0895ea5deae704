package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
)

// maxAuditText is the size in bytes up to which an audit entry contains an input or answer. For
// longer ones, it contains only the hash.
const maxAuditText = 64 << 10

// auditBody is an entry of the audit log; docs/operating/audit.md describes it.
type auditBody struct {
	What        string       `json:"what"` // answered, denied, carried
	At          time.Time    `json:"at"`
	Waited      float64      `json:"waited_seconds"`
	By          auditPerson  `json:"by"`
	RequestID   string       `json:"request_id"`
	SessionID   string       `json:"session_id"`
	RequestType string       `json:"request_type"`
	Asker       string       `json:"asker,omitempty"`
	ToolName    string       `json:"tool_name"`
	Asked       auditContent `json:"asked"`
	Answer      auditContent `json:"answer"`
	Edited      bool         `json:"edited"`
	CarriedFrom string       `json:"carried_from,omitempty"`
	Held        float64      `json:"held_seconds,omitempty"` // how long the answer was held in its undo window
	Grants      []auditGrant `json:"grants,omitempty"`       // given with the answer
	First       *auditPerson `json:"first,omitempty"`        // the first of two required approvers
	Overruled   *auditHeld   `json:"overruled,omitempty"`    // the held approval that this denial replaced
}

// auditHeld is a held answer that never took effect, because somebody denied the request meanwhile.
type auditHeld struct {
	By     auditPerson  `json:"by"`
	At     time.Time    `json:"at"`
	Answer auditContent `json:"answer"`
}

type auditPerson struct {
	UserID  string `json:"user_id"`
	Name    string `json:"name"`
	Device  string `json:"device"`
	Address string `json:"address,omitempty"` // empty for a carried answer
}

func auditPersonOf(a pending.Actor) auditPerson {
	return auditPerson{SanitizeText(a.UserID), SanitizeText(a.Name), SanitizeText(a.Device), SanitizeText(a.Address)}
}

// auditContent is a text and its hash. Text is empty if it was too long to store.
type auditContent struct {
	Hash string `json:"hash"`
	Text string `json:"text,omitempty"`
}

func auditContentOf(text []byte) auditContent {
	sum := sha256.Sum256(text)
	c := auditContent{Hash: "sha256:" + hex.EncodeToString(sum[:])}
	if len(text) <= maxAuditText {
		c.Text = SanitizeText(string(text))
	}
	return c
}

// auditApproval is an entry about an answer that did not resolve its request: the first of two
// approvals, or a held answer that never took effect.
type auditApproval struct {
	What      string       `json:"what"` // approved_first, approval_withdrawn, answer_taken_back, answer_dropped
	At        time.Time    `json:"at"`
	By        auditPerson  `json:"by"`
	RequestID string       `json:"request_id"`
	SessionID string       `json:"session_id"`
	ToolName  string       `json:"tool_name"`
	Asked     auditContent `json:"asked"`
	// Set for held answers only.
	Answer *auditContent `json:"answer,omitempty"`
	Held   float64       `json:"held_seconds,omitempty"`
	Reason string        `json:"reason,omitempty"` // why it was dropped
}

// ApprovalAudit returns the audit entry for giving or withdrawing the first of two approvals.
func ApprovalAudit(r pending.Request, what string, by pending.Actor, at time.Time) ([]byte, error) {
	entry := auditApproval{What: what, At: Time(Micros(at)), By: auditPersonOf(by), RequestID: r.RequestID, SessionID: r.SessionID,
		ToolName: SanitizeText(r.ToolName), Asked: auditContent{Hash: r.InputHash}}
	if len(r.ToolInput) <= maxAuditText {
		entry.Asked.Text = SanitizeText(string(r.ToolInput))
	}
	return json.Marshal(entry)
}

// ReleasedHoldAudit returns the audit entry for a held answer that never took effect. If why is
// empty, the actor by undid it; otherwise it was dropped for that reason.
func ReleasedHoldAudit(r pending.Request, by pending.Actor, why string, at time.Time) ([]byte, error) {
	answer, err := json.Marshal(r.Held.Answer)
	if err != nil {
		return nil, err
	}
	what := "answer_taken_back"
	if why != "" {
		what = "answer_dropped"
	}
	given := auditContentOf(answer)
	entry := auditApproval{What: what, At: Time(Micros(at)), By: auditPersonOf(by), RequestID: r.RequestID, SessionID: r.SessionID,
		ToolName: SanitizeText(r.ToolName), Asked: auditContent{Hash: r.InputHash}, Answer: &given, Held: at.Sub(r.Held.At).Seconds(), Reason: SanitizeText(why)}
	if len(r.ToolInput) <= maxAuditText {
		entry.Asked.Text = SanitizeText(string(r.ToolInput))
	}
	return json.Marshal(entry)
}

// IsAudited reports whether a resolution with status s gets an audit entry, as decisions by people
// and passed deadlines do.
func IsAudited(s pending.Status) bool { return IsDecision(s) || s == pending.Expired }

// ResolutionAudit returns the audit entry for a request that a person resolved or whose deadline passed.
func ResolutionAudit(r pending.Request, res pending.Resolution) ([]byte, error) {
	answer, err := json.Marshal(res.Answer)
	if err != nil {
		return nil, err
	}
	body := auditBody{
		What: string(res.Status), At: Time(Micros(res.At)), Waited: res.At.Sub(r.CreatedAt).Seconds(),
		By:        auditPersonOf(res.Actor),
		RequestID: r.RequestID, SessionID: r.SessionID, RequestType: string(r.RequestType), Asker: SanitizeText(r.Asker), ToolName: SanitizeText(r.ToolName),
		Asked: auditContent{Hash: r.InputHash}, Answer: auditContentOf(answer), CarriedFrom: res.CarriedFrom,
		Edited: res.Answer != nil && len(res.Answer.UpdatedInput) > 0,
	}
	if len(r.ToolInput) <= maxAuditText {
		body.Asked.Text = SanitizeText(string(r.ToolInput))
	}
	if res.SecondTo != "" && r.Approval != nil {
		first := auditPersonOf(r.Approval.Actor)
		body.First = &first
	}
	if res.Answer == nil {
		body.Answer = auditContent{}
	}
	if !res.HeldSince.IsZero() {
		body.Held = res.At.Sub(res.HeldSince).Seconds()
	}
	if h := res.Overrules; h != nil {
		given, err := json.Marshal(h.Answer)
		if err != nil {
			return nil, err
		}
		body.Overruled = &auditHeld{By: auditPersonOf(h.Actor), At: Time(Micros(h.At)), Answer: auditContentOf(given)}
	}
	for _, g := range pending.GrantsOf(r, res) {
		body.Grants = append(body.Grants, auditGrantOf(g))
	}
	if res.CarriedFrom != "" {
		body.What, body.Waited = "carried", 0
	}
	return json.Marshal(body)
}

// readAuditEntry reads a row of seq, body and hash.
func readAuditEntry(row Row) (e account.AuditEntry, err error) {
	err = row.Scan(&e.Seq, &e.Body, &e.Hash)
	return e, err
}

var (
	selectAudit       = query("SELECT seq, body, hash FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2")
	selectAuditBefore = query("SELECT seq, body, hash FROM audit WHERE seq < $1 ORDER BY seq DESC LIMIT $2")
	selectAuditBase   = query("SELECT seq, hash FROM audit_base")
)

// AddIncident implements [account.Store].
func (s Shared) AddIncident(ctx context.Context, body []byte) error {
	return s.e.Apply(ctx, Change{What: "put an incident on record", Durability: Durable, Audit: body})
}

// Audit implements [account.Trail].
func (s Shared) Audit(ctx context.Context, after int64, limit int) ([]account.AuditEntry, error) {
	return queryAll(ctx, s, "audit", selectAudit, readAuditEntry, after, limit)
}

// AuditBefore implements [account.Trail].
func (s Shared) AuditBefore(ctx context.Context, before int64, limit int) ([]account.AuditEntry, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	return queryAll(ctx, s, "audit", selectAuditBefore, readAuditEntry, before, limit)
}

// AuditBase implements [account.Trail].
func (s Shared) AuditBase(ctx context.Context) (base account.AuditEntry, err error) {
	err = s.e.Query(ctx, "audit base", selectAuditBase, func(row Row) error { return row.Scan(&base.Seq, &base.Hash) })
	return base, err
}

var (
	setAuditBase = define(`INSERT INTO audit_base (one, seq, hash) VALUES (1, $1, $2) ON CONFLICT (one) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`)
	removeAudit  = define("DELETE FROM audit WHERE seq <= $1")
)

// RemoveAudit implements [account.Trail]. It appends body before it deletes, so the hash of that
// entry covers the last entry so far. The entry itself stays, so the chain always has an entry to
// continue from.
func (s Shared) RemoveAudit(ctx context.Context, through account.AuditEntry, body []byte) error {
	return s.e.Apply(ctx, Change{What: "remove old audit entries", Durability: Durable, Audit: body,
		Steps: []Step{step(setAuditBase, through.Seq, through.Hash), step(removeAudit, through.Seq)}})
}
