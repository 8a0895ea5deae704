package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/visible"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
)

// answerFlags are the flags of sayso answer.
type answerFlags struct {
	remoteFlags
	digest, reason string
	interrupt      bool
}

func (f *answerFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&f.digest, "digest", "", "`digest` of what you saw, as 'sayso pending' prints it")
	flags.StringVar(&f.reason, "reason", "", "with deny: a `text` for Claude")
	flags.BoolVar(&f.interrupt, "interrupt", false, "with deny: also interrupt Claude")
	f.remoteFlags.define(flags)
}

// alreadyAnswered is the exit code when somebody else answered first.
const alreadyAnswered = 3

// answer answers a request.
func answer(ctx context.Context, args []string, std streams) error {
	var f answerFlags
	rest, err := parseFlags(newFlags("answer", f.define), args)
	if err != nil {
		return err
	}
	if len(rest) < 2 {
		return usageError("it needs the id of a request and an answer; 'sayso pending' lists the open requests")
	}
	typed, words := rest[0], rest[1:]
	denies := len(words) == 1 && words[0] == "deny"
	if !denies && (f.reason != "" || f.interrupt) {
		return usageError("--reason and --interrupt go with deny")
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
	q, err := findRequest(list, typed)
	if err != nil {
		return f.explainClosed(ctx, r, typed, err, std)
	}
	body := wire.PendingRequestResponse{
		Head: wire.Head{CommandID: uuid.NewString()}, SessionID: q.SessionID, RequestID: q.RequestID,
		RequestType: q.RequestType, InputHash: q.InputHash,
	}
	switch {
	case denies:
		body.Decision, body.Message, body.Interrupt = pending.Deny, f.reason, f.interrupt
	case q.RequestType == pending.ToolApproval && len(words) == 1 && words[0] == "allow":
		body.Decision = pending.Allow
	case q.RequestType == pending.ToolApproval:
		return usageError("this is a tool call; answer it with allow or deny")
	default:
		if body.Responses, err = responsesOf(q.Form, words); err != nil {
			return err
		}
	}
	switch {
	case f.digest != "":
		if len(f.digest) < digestLength || !strings.HasPrefix(strings.TrimPrefix(q.InputHash, "sha256:"), f.digest) {
			return fmt.Errorf("the digest is not that of this request, so you have not seen what it asks; show it with: sayso pending %s", shortID(q.RequestID))
		}
	case denies: // nothing runs
	default:
		if err := confirm(q, std); err != nil {
			return err
		}
	}
	var out wire.Outcome
	err = r.do(ctx, http.MethodPost, "/api/pending/"+q.RequestID+"/response", body, &out)
	var refused *replyError
	if errors.As(err, &refused) && refused.Resolved != nil {
		out, err = refused.Outcome, nil
	}
	if err != nil {
		return err
	}
	return f.report(q.RequestID, out, std)
}

// report prints the outcome of an answer.
func (f answerFlags) report(requestID string, out wire.Outcome, std streams) error {
	if f.json {
		if err := printJSON(std.out, map[string]any{"request_id": requestID, "result": out.Result, "resolved": out.Resolved, "error": out.Error}); err != nil {
			return err
		}
	}
	if out.Resolved != nil {
		err := exitError{code: alreadyAnswered, text: otherAnswer(out.Resolved)}
		if f.json {
			err.text = ""
		}
		return err
	}
	if !f.json {
		newScreen(std.out, os.Getenv).printf("Your answer to request %s was sent.\n", shortID(requestID))
	}
	return nil
}

// otherAnswer returns a sentence that says who answered first.
func otherAnswer(res *wire.Resolved) string {
	text := visible.Line(res.Summary)
	if res.By != nil {
		return fmt.Sprintf("%s answered %s: %s Your answer was not used.", visible.Line(*res.By), ago(res.At, time.Now()), text)
	}
	return text + " Your answer was not used."
}

// explainClosed reports the outcome of a request that is no longer open. It needs the full id: without
// it, or if the outcome is unknown, it returns notOpen.
func (f answerFlags) explainClosed(ctx context.Context, r *remote, typed string, notOpen error, std streams) error {
	id, err := uuid.Parse(typed)
	if err != nil && len(typed) < minPrefix {
		return notOpen
	}
	if err != nil {
		return fmt.Errorf("%w. If it was open before, type its full id to see who answered it", notOpen)
	}
	fate, err := get[wire.RequestFate](ctx, r, "/api/pending/"+id.String())
	if err != nil || fate.Resolved == nil {
		return notOpen
	}
	return f.report(id.String(), wire.Outcome{Result: wire.AlreadyResolved, Resolved: fate.Resolved}, std)
}

// confirm shows a request in a terminal and asks the person to confirm the answer. Without a
// terminal it returns a [usageError].
func confirm(q openRequest, std streams) error {
	in, ok := std.in.(*os.File)
	to := newScreen(std.err, os.Getenv)
	if !ok || newScreen(in, os.Getenv).width == 0 || to.width == 0 {
		return usageError("give the digest of what you saw with --digest; 'sayso pending " + shortID(q.RequestID) + "' prints it")
	}
	q.print(to, time.Now())
	word := "yes"
	if q.Risk == "high" || q.DefaultToNo {
		word = "approve"
	}
	to.printf("\nType %s to send this answer: ", word)
	line, err := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
	if err != nil && err != io.EOF {
		return err
	}
	if !strings.EqualFold(strings.TrimSpace(line), word) {
		return exitError{code: 1, text: "nothing was sent"}
	}
	return nil
}

// responsesOf returns the answers that people typed, one for each question.
func responsesOf(form *wire.Form, words []string) ([]wire.Response, error) {
	if form == nil {
		return nil, errors.New("this request contains no questions that can be shown; you can only decline it: deny")
	}
	if len(words) != len(form.Questions) {
		return nil, usageError("give " + count(len(form.Questions), "answer", "answers") + ", one for each question; for an optional question, '' for none")
	}
	var list []wire.Response
	for i, question := range form.Questions {
		one := wire.Response{ID: question.ID}
		text, isText := strings.CutPrefix(words[i], "=")
		numbers, ok := optionNumbers(text, len(question.Options))
		switch {
		case words[i] == "":
			continue
		case isText:
			one.Text = text
		case ok:
			for _, n := range numbers {
				one.Values = append(one.Values, question.Options[n-1].Value)
			}
		case question.Kind == pending.Confirm && (text == "yes" || text == "no"):
			one.Values = []string{text}
		default:
			at := slices.IndexFunc(question.Options, func(o wire.Option) bool { return o.Label == text })
			switch {
			case at >= 0:
				one.Values = []string{question.Options[at].Value}
			case len(question.Options) > 0 && strings.Trim(text, "0123456789, ") == "": // probably a mistyped number of an option
				return nil, usageError(fmt.Sprintf("question %d has options 1 to %d; for the text %s, type =%[3]s", i+1, len(question.Options), text))
			default:
				one.Text = text
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// optionNumbers reads numbers of options such as 1,3.
func optionNumbers(text string, options int) (numbers []int, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > options {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, true
}
