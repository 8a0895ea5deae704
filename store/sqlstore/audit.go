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

// auditText is how much of an input or an answer is on record word for word, in
// bytes. Beyond it the hash must do.
const auditText = 64 << 10

// auditBody is an entry of the audit trail; docs/operating/audit.md describes it.
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
	Held        float64      `json:"held_seconds,omitempty"` // how long it could be taken back before it counted
	Grants      []auditGrant `json:"grants,omitempty"`       // that came with the answer
	First       *auditPerson `json:"first,omitempty"`        // who approved before, where two had to
	Overruled   *auditHeld   `json:"overruled,omitempty"`    // the held approval that a denial ended
}

// auditHeld is an answer that never counted, because somebody denied while it was
// held.
type auditHeld struct {
	By     auditPerson  `json:"by"`
	At     time.Time    `json:"at"`
	Answer auditContent `json:"answer"`
}

type auditPerson struct {
	UserID  string `json:"user_id"`
	Name    string `json:"name"`
	Device  string `json:"device"`
	Address string `json:"address,omitempty"` // unknown of an answer that is carried
}

func personOf(a pending.Actor) auditPerson {
	return auditPerson{SanitizeText(a.UserID), SanitizeText(a.Name), SanitizeText(a.Device), SanitizeText(a.Address)}
}

// auditContent is a text with its hash; Text is "" when it is too long.
type auditContent struct {
	Hash string `json:"hash"`
	Text string `json:"text,omitempty"`
}

func content(text []byte) auditContent {
	sum := sha256.Sum256(text)
	c := auditContent{Hash: "sha256:" + hex.EncodeToString(sum[:])}
	if len(text) <= auditText {
		c.Text = SanitizeText(string(text))
	}
	return c
}

// auditApproval is an entry about what a person said and what decided nothing: the
// first of two approvals, or an answer that was held and never counted.
type auditApproval struct {
	What      string       `json:"what"` // approved_first, approval_withdrawn, answer_taken_back, answer_dropped
	At        time.Time    `json:"at"`
	By        auditPerson  `json:"by"`
	RequestID string       `json:"request_id"`
	SessionID string       `json:"session_id"`
	ToolName  string       `json:"tool_name"`
	Asked     auditContent `json:"asked"`
	// Of an answer that was held:
	Answer *auditContent `json:"answer,omitempty"`
	Held   float64       `json:"held_seconds,omitempty"`
	Reason string        `json:"reason,omitempty"` // why it was dropped
}

// ApprovalAudit is what goes on record of the first of two approvals, given or
// taken back.
func ApprovalAudit(r pending.Request, what string, by pending.Actor, at time.Time) ([]byte, error) {
	entry := auditApproval{What: what, At: Time(Micros(at)), By: personOf(by), RequestID: r.RequestID, SessionID: r.SessionID,
		ToolName: SanitizeText(r.ToolName), Asked: auditContent{Hash: r.InputHash}}
	if len(r.ToolInput) <= auditText {
		entry.Asked.Text = SanitizeText(string(r.ToolInput))
	}
	return json.Marshal(entry)
}

// ReleasedHoldAudit is what goes on record of an answer that was held until at and never
// counted, because by took it back or, with why, because it was dropped.
func ReleasedHoldAudit(r pending.Request, by pending.Actor, why string, at time.Time) ([]byte, error) {
	answer, err := json.Marshal(r.Held.Answer)
	if err != nil {
		return nil, err
	}
	what := "answer_taken_back"
	if why != "" {
		what = "answer_dropped"
	}
	given := content(answer)
	entry := auditApproval{What: what, At: Time(Micros(at)), By: personOf(by), RequestID: r.RequestID, SessionID: r.SessionID,
		ToolName: SanitizeText(r.ToolName), Asked: auditContent{Hash: r.InputHash}, Answer: &given, Held: at.Sub(r.Held.At).Seconds(), Reason: SanitizeText(why)}
	if len(r.ToolInput) <= auditText {
		entry.Asked.Text = SanitizeText(string(r.ToolInput))
	}
	return json.Marshal(entry)
}

// OnRecord reports whether a resolution of that status goes on record: what a
// person said, and that nobody said anything in time.
func OnRecord(s pending.Status) bool { return Answers(s) || s == pending.Expired }

// AuditBody is what goes on record of a request that a person resolved, or that
// nobody answered in time.
func AuditBody(r pending.Request, res pending.Resolution) ([]byte, error) {
	answer, err := json.Marshal(res.Answer)
	if err != nil {
		return nil, err
	}
	body := auditBody{
		What: string(res.Status), At: Time(Micros(res.At)), Waited: res.At.Sub(r.CreatedAt).Seconds(),
		By:        personOf(res.Actor),
		RequestID: r.RequestID, SessionID: r.SessionID, RequestType: string(r.RequestType), Asker: SanitizeText(r.Asker), ToolName: SanitizeText(r.ToolName),
		Asked: auditContent{Hash: r.InputHash}, Answer: content(answer), CarriedFrom: res.CarriedFrom,
		Edited: res.Answer != nil && len(res.Answer.UpdatedInput) > 0,
	}
	if len(r.ToolInput) <= auditText {
		body.Asked.Text = SanitizeText(string(r.ToolInput))
	}
	if res.SecondTo != "" && r.Approval != nil {
		first := personOf(r.Approval.Actor)
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
		body.Overruled = &auditHeld{By: personOf(h.Actor), At: Time(Micros(h.At)), Answer: content(given)}
	}
	for _, g := range pending.GrantsOf(r, res) {
		body.Grants = append(body.Grants, grantOf(g))
	}
	if res.CarriedFrom != "" {
		body.What, body.Waited = "carried", 0
	}
	return json.Marshal(body)
}

// readAuditEntry reads a row of seq, body, hash.
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
	return all(ctx, s, "audit", selectAudit, readAuditEntry, after, limit)
}

// AuditBefore implements [account.Trail].
func (s Shared) AuditBefore(ctx context.Context, before int64, limit int) ([]account.AuditEntry, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	return all(ctx, s, "audit", selectAuditBefore, readAuditEntry, before, limit)
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

// RemoveAudit implements [account.Trail]. The entry about it comes first: its hash
// covers the one that is last now, and it stays, so that there is always one to go
// on from.
func (s Shared) RemoveAudit(ctx context.Context, through account.AuditEntry, body []byte) error {
	return s.e.Apply(ctx, Change{What: "remove old audit entries", Durability: Durable, Audit: body,
		Steps: []Step{step(setAuditBase, through.Seq, through.Hash), step(removeAudit, through.Seq)}})
}
