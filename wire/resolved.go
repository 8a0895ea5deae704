package wire

import (
	"cmp"
	"strings"

	"github.com/sayso-dev/sayso/internal/ellipsis"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/pending"
)

// NewResolved returns who resolved a request, how and when; nil while it can still be
// answered.
func NewResolved(r pending.Request) *Resolved {
	res := r.Resolution
	if res == nil {
		return nil
	}
	w := &Resolved{Outcome: res.Status, By: OrNull(r.ResolvedBy()), Device: OrNull(res.Actor.Device), At: Seconds(res.At)}
	by := ""
	if res.Actor.Name != "" {
		by = r.ResolvedBy()
	}
	asked := r.RequestType == pending.AskUserQuestion
	switch res.Status {
	case pending.Answered:
		switch {
		case asked:
			w.Summary = statement.New("answered", "by", by, "answer", answerLine(res.Answer))
		case res.Answer != nil && len(res.Answer.UpdatedInput) > 0:
			w.Summary = statement.New("approved_changed", "by", by)
		default:
			w.Summary = statement.New("approved", "by", by)
		}
	case pending.Denied:
		why := ""
		if res.Answer != nil {
			why = singleLine(res.Answer.Message)
		}
		switch {
		case asked && why != "":
			w.Summary = statement.New("declined_why", "by", by, "why", why)
		case asked:
			w.Summary = statement.New("declined", "by", by)
		case why != "":
			w.Summary = statement.New("denied_why", "by", by, "why", why)
		default:
			w.Summary = statement.New("denied", "by", by)
		}
	case pending.Withdrawn:
		w.Summary = cmp.Or(res.Reason, statement.New("withdrawn"))
	case pending.Expired:
		w.Summary = cmp.Or(res.Reason, statement.New("not_answered"))
	default:
		w.Summary = cmp.Or(res.Reason, statement.New("not_open"))
	}
	w.Reasons = statement.Reasons("summary", w.Summary)
	return w
}

// answerLine returns the values and texts of an answer as one line.
func answerLine(a *pending.Answer) string {
	if a == nil {
		return ""
	}
	var parts []string
	for _, r := range a.Responses {
		parts = append(parts, r.Values...)
		if r.Text != "" {
			parts = append(parts, r.Text)
		}
	}
	return singleLine(strings.Join(parts, ", "))
}

// singleLine returns a person's text as one line, truncated for a summary.
func singleLine(s string) string {
	const maxBytes = 200
	return ellipsis.Bytes(strings.Join(strings.Fields(s), " "), maxBytes)
}

// Sentence returns a text with a full stop at its end.
func Sentence(s string) string {
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}
