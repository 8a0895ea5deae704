package wire

import (
	"strings"

	"github.com/sayso-dev/sayso/pending"
)

// NewResolved returns who resolved a request, with what and when; nil while it
// can still be answered.
func NewResolved(r pending.Request) *Resolved {
	res := r.Resolution
	if res == nil {
		return nil
	}
	w := &Resolved{Outcome: res.Status, By: OrNull(r.ResolvedBy()), Device: OrNull(res.Actor.Device), At: Seconds(res.At)}
	by := ""
	if res.Actor.Name != "" {
		by = " by " + r.ResolvedBy()
	}
	switch res.Status {
	case pending.Answered:
		w.Summary = "Approved" + by + "."
		if r.RequestType == pending.AskUserQuestion {
			w.Summary = "Answered" + by + spoken(res.Answer) + "."
		} else if res.Answer != nil && len(res.Answer.UpdatedInput) > 0 {
			w.Summary = "Approved" + by + " with changes."
		}
	case pending.Denied:
		verb := "Denied"
		if r.RequestType == pending.AskUserQuestion {
			verb = "Declined"
		}
		w.Summary = verb + by + "."
		if res.Answer != nil && res.Answer.Message != "" {
			w.Summary = verb + by + ": " + shorten(res.Answer.Message)
		}
	case pending.Withdrawn:
		w.Summary = ReasonOr(res.Reason, "Claude withdrew this request.")
	case pending.Expired:
		w.Summary = ReasonOr(res.Reason, "Time ran out before anybody answered.")
	default:
		w.Summary = ReasonOr(res.Reason, "This request is no longer open.")
	}
	return w
}

// spoken is what was answered, for a summary.
func spoken(a *pending.Answer) string {
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
	if len(parts) == 0 {
		return ""
	}
	return ": " + shorten(strings.Join(parts, ", "))
}

// shorten makes one line of what a person wrote.
func shorten(s string) string {
	const most = 200 // bytes
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Sentence returns a text with a full stop at its end.
func Sentence(s string) string {
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}

// ReasonOr returns the reason, or another sentence when there is none.
func ReasonOr(reason, otherwise string) string {
	if reason == "" {
		return otherwise
	}
	return reason
}
