package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/visible"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
)

// pendingFlags are the flags of sayso pending.
type pendingFlags struct {
	remoteFlags
	short bool
}

func (f *pendingFlags) define(flags *flag.FlagSet) {
	flags.BoolVar(&f.short, "short", false, "one line per request, without details")
	f.remoteFlags.define(flags)
}

// showPending shows one open request, or all.
func showPending(ctx context.Context, args []string, std streams) error {
	var f pendingFlags
	rest, err := parseFlags(newFlags("pending", f.define), args)
	if err != nil {
		return err
	}
	if len(rest) > 1 {
		return usageError("it takes the id of one request")
	}
	r, err := f.connect()
	if err != nil {
		return err
	}
	defer r.Close()
	list, err := openRequests(ctx, r)
	if err != nil {
		return err
	}
	if len(rest) == 1 {
		one, err := findRequest(list, rest[0])
		if err != nil {
			return err
		}
		list = []openRequest{one}
	}
	if f.json {
		return printJSON(std.out, map[string]any{"pending_requests": list})
	}
	to, now := newScreen(std.out, os.Getenv), time.Now()
	switch {
	case len(list) == 0:
		to.printf("No open requests\n")
	case f.short:
		cells := make([][]string, len(list))
		for i, q := range list {
			cells[i] = []string{shortID(q.RequestID), ago(q.CreatedAt, now), visible.Line(q.ToolName), riskNames[string(q.Risk)], visible.Line(q.SessionTitle)}
		}
		to.table([]string{"ID", "ASKED", "TOOL", "RISK", "SESSION"}, cells, 4, nil)
	default:
		for i, q := range list {
			if i > 0 {
				to.printf("\n")
			}
			q.print(to, now)
		}
	}
	return nil
}

// openRequest is a request as /api/pending lists it, with the digest of its input.
type openRequest struct {
	wire.PendingRequest
	Digest string `json:"digest"`
}

// digestLength is how many hexadecimal digits of the hash of the input people type. The id
// identifies the request, so the digits only confirm that its input is the one that was shown.
const digestLength = 12

// openRequests lists the open requests, oldest first.
func openRequests(ctx context.Context, r *remote) ([]openRequest, error) {
	list, err := get[wire.PendingList](ctx, r, "/api/pending")
	open := make([]openRequest, len(list.PendingRequests))
	for i, q := range list.PendingRequests {
		digest := strings.TrimPrefix(q.InputHash, "sha256:")
		open[i] = openRequest{q, digest[:min(len(digest), digestLength)]}
	}
	return open, err
}

// findRequest returns the request whose id begins with what was typed.
func findRequest(list []openRequest, typed string) (openRequest, error) {
	ids := make([]string, len(list))
	for i, q := range list {
		ids[i] = q.RequestID
	}
	id, err := findID("open request", typed, ids)
	for _, q := range list {
		if q.RequestID == id {
			return q, nil
		}
	}
	return openRequest{}, err
}

var riskNames = map[string]string{"low": "Low risk", "medium": "Medium risk", "high": "High risk"}

// print prints a request in full.
func (q openRequest) print(to *screen, now time.Time) {
	head := []string{ago(q.CreatedAt, now)}
	if risk := riskNames[string(q.Risk)]; risk != "" && q.RequestType == pending.ToolApproval {
		head = append(head, to.styled(map[string]string{"high": red, "medium": yellow}[string(q.Risk)], risk))
	}
	if q.Status == pending.Orphaned {
		head = append(head, "Claude has stopped")
	}
	to.printf("%s  %s\n", to.styled(bold, "Request "+q.RequestID), strings.Join(head, ", "))
	to.printf("Session  %s  %s\n", shortID(q.SessionID), visible.Line(q.SessionTitle))
	asker := "Claude"
	if q.Asker != "" {
		asker = visible.Line(q.Asker)
	}
	if q.AgentType != nil && *q.AgentType != "" {
		asker += " (subagent " + visible.Line(*q.AgentType) + ")"
	}
	if q.RequestType == pending.ToolApproval {
		to.printf("%s wants to use %s\n", asker, to.styled(bold, visible.Code(oneLine(q.ToolName))))
	} else {
		to.printf("%s asks\n", asker)
	}
	for _, note := range []struct {
		name string
		text *string
	}{{"Title", q.Title}, {"Description", q.Description}, {"Why it asks", q.DecisionReason}, {"Path", q.BlockedPath}} {
		if note.text != nil && *note.text != "" {
			to.printf("%s:\n", note.name)
			to.quoted(visible.Prose(*note.text))
		}
	}
	hidden := 0
	if q.RequestType == pending.AskUserQuestion && q.Form != nil {
		q.printForm(to)
	} else {
		text := inputText(q.ToolInput)
		shown := visible.Code(text)
		if shown != text {
			hidden = strings.Count(shown, "[") - strings.Count(text, "[")
		}
		to.printf("Input:\n")
		to.quoted(shown)
	}
	if hidden > 0 {
		to.printf("%s\n", to.styled(red, count(hidden, "hidden or confusable character is", "hidden or confusable characters are")+" shown by name in [brackets]."))
	}
	q.printRules(to)
	if q.ExpiresAt != nil {
		to.printf("Expires in %s\n", roughly(time.UnixMicro(int64(*q.ExpiresAt*1e6)).Sub(now)))
	}
	to.printf("Digest   %s\n", q.Digest)
	switch {
	case q.RequestType == pending.ToolApproval:
		to.printf("Approve  sayso answer %s allow --digest %s\nDeny     sayso answer %s deny --reason TEXT\n", shortID(q.RequestID), q.Digest, shortID(q.RequestID))
	case q.Form != nil:
		to.printf("Answer   sayso answer %s%s --digest %s\nDecline  sayso answer %s deny\n", shortID(q.RequestID), strings.Repeat(" ANSWER", len(q.Form.Questions)), q.Digest, shortID(q.RequestID))
	default:
		to.printf("Decline  sayso answer %s deny\n", shortID(q.RequestID))
	}
}

// printRules prints who may approve, and what others have decided already.
func (q openRequest) printRules(to *screen) {
	if a := q.Approval; a != nil {
		switch {
		case a.First != nil:
			to.printf("Two people must approve this. %s approved it.\n", visible.Line(a.First.By))
		case string(a.Effect) == "two_people":
			to.printf("Two people must approve this.\n")
		}
		if len(a.People) > 0 {
			to.printf("Only these people may approve this: %s\n", visible.Line(strings.Join(a.People, ", ")))
		}
		if !a.May {
			to.printf("You may not approve this.\n")
		}
	}
	if h := q.Held; h != nil && h.Dropped == "" {
		to.printf("%s answered %s. This can still be undone.\n", visible.Line(h.By), string(h.Decision))
	}
	if e := q.Earlier; e != nil {
		to.printf("Claude asked a similar question before and may have acted on the answer: %s\n", visible.Line(e.Summary))
	}
	if q.MatchedAskRule != nil {
		to.printf("A rule requires a person to decide: %s\n", visible.Line(q.MatchedAskRule.ToolName+" "+q.MatchedAskRule.RuleContent))
	}
}

// printForm prints the questions of a request with the numbers of their options.
func (q openRequest) printForm(to *screen) {
	if q.Form.Title != nil && *q.Form.Title != "" {
		to.quoted(visible.Prose(*q.Form.Title))
	}
	for n, question := range q.Form.Questions {
		text := question.Question
		if question.Header != "" && question.Header != text {
			text = question.Header + ": " + text
		}
		to.printf("Question %d%s\n", n+1, map[bool]string{false: " (optional)"}[question.Required])
		to.quoted(visible.Prose(text))
		if question.Description != "" {
			to.quoted(visible.Prose(question.Description))
		}
		var b strings.Builder
		for i, o := range question.Options {
			b.WriteString(strconv.Itoa(i+1) + "  " + oneLine(visible.Prose(o.Label)) + "\n")
			if o.Description != "" {
				b.WriteString("   " + strings.ReplaceAll(visible.Prose(o.Description), "\n", "\n   ") + "\n")
			}
			if o.Preview != nil && *o.Preview != "" {
				b.WriteString("   " + strings.ReplaceAll(visible.Prose(*o.Preview), "\n", "\n   ") + "\n")
			}
		}
		to.quoted(b.String())
		switch {
		case question.Kind == pending.Confirm:
			to.printf("  Answer yes or no\n")
		case question.Kind == pending.MultiSelect && question.FreeText:
			to.printf("  Answer with numbers, such as 1,3, or a text\n")
		case question.Kind == pending.MultiSelect:
			to.printf("  Answer with numbers, such as 1,3\n")
		case question.Kind == pending.Select && question.FreeText:
			to.printf("  Answer with a number or a text\n")
		case question.Kind == pending.Select:
			to.printf("  Answer with a number\n")
		default:
			to.printf("  Answer with a text\n")
		}
	}
}

// oneLine replaces line endings and tabs by their names, for a text that must stay on one line.
func oneLine(text string) string {
	return strings.NewReplacer("\n", "[LF]", "\t", "[TAB]").Replace(text)
}

// inputText returns the input of a tool for people: each field with its name, in the order of
// the input, texts as they are and everything else as JSON. It keeps both of two fields with the
// same name.
func inputText(input json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(input))
	open, err := d.Token()
	if err != nil || open != json.Delim('{') {
		return string(input)
	}
	var b strings.Builder
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return string(input)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return string(input)
		}
		key, _ := name.(string)
		text, isText := "", false
		if value[0] == '"' {
			isText = json.Unmarshal(value, &text) == nil
		}
		if !isText {
			var indented bytes.Buffer
			if json.Indent(&indented, value, "", "  ") == nil {
				value = indented.Bytes()
			}
			text = string(value)
		}
		if isText && strings.Contains(text, "\n") {
			// Indented, so that a text cannot look like a field.
			text = "\n  " + strings.ReplaceAll(text, "\n", "\n  ")
		} else {
			text = " " + text
		}
		b.WriteString(oneLine(key) + ":" + text + "\n")
	}
	return b.String()
}
