package refusal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

var errDisk = errors.New("no space left on device")

func TestOf(t *testing.T) {
	t.Parallel()
	asked := 0
	table := refusal.Table{
		ClassifyStoreError: func(err error) wire.NoticeCode {
			if errors.Is(err, errDisk) {
				return wire.ReadOnly
			}
			return ""
		},
		OnStoreProblem: func() { asked++ },
	}
	closed := pending.Request{Status: pending.Withdrawn}
	denied := &pending.HeldError{Held: pending.Held{Actor: pending.Actor{Name: "Ada"}, Answer: pending.Answer{Decision: pending.Deny}}}
	for _, c := range []struct {
		err          error
		status       int
		code, reason string
		field        string
		result       wire.AckResult
	}{
		{problem.For("name", "user_name_taken"), 400, "invalid", "user_name_taken", "name", wire.Rejected},
		{problem.New("limit_person_sessions", "person", "Ada", "max", 1), 429, "limit_reached", "limit_person_sessions", "", wire.Rejected},
		{&pending.NotOpenError{Request: closed}, 409, "stale", "request_closed", "", wire.Stale},
		{&pending.NotOpenError{Request: pending.Request{Status: pending.Denied}}, 409, "already_resolved", "already_resolved", "", wire.AlreadyResolved},
		{&pending.HeldError{Held: pending.Held{Actor: pending.Actor{Name: "Ada"}}}, 409, "held", "held_approved", "", wire.Rejected},
		{denied, 409, "held", "held_denied", "", wire.Rejected},
		{pending.ErrStale, 409, "stale", "request_changed", "", wire.Stale},
		{pending.ErrNotFound, 404, "not_found", "request_not_found", "", wire.Stale},
		{pending.ErrAnotherNeeded, 409, "another_needed", "another_needed", "", wire.Rejected},
		{pending.ErrUndone, 409, "taken_back", "taken_back", "", wire.Rejected},
		{pending.ErrNothingHeld, 409, "nothing_held", "nothing_held", "", wire.Rejected},
		{pending.ErrNotApproved, 409, "not_approved", "not_approved", "", wire.Rejected},
		{access.ErrOtherPerson, 403, "other_person", "other_person", "", wire.Rejected},
		{decision.ErrBatchPlain, 400, "invalid", "batch_decision", "batch", wire.Rejected},
		{decision.ErrBatchAlone, 422, "not_in_a_batch", "not_in_a_batch", "", wire.Rejected},
		{decision.ErrBatchRisk, 422, "not_low_risk", "not_low_risk", "", wire.Rejected},
		{decision.ErrBatchMixed, 422, "not_one_batch", "not_one_batch", "", wire.Rejected},
		{&decision.DependentError{Link: decision.LinkMadeYours, First: "Ada"}, 409, "not_independent", "approver_resets_you", "", wire.Rejected},
		{&decision.DependentError{Link: decision.LinkMadeTheirs, First: "Ada"}, 409, "not_independent", "you_reset_approver", "", wire.Rejected},
		{&decision.DependentError{Link: decision.LinkMadeBoth, First: "Ada"}, 409, "not_independent", "same_token_maker", "", wire.Rejected},
		{project.ErrHidden, 404, "not_found", "project_not_found", "", wire.Rejected},
		{project.ErrNotFound, 404, "not_found", "project_not_found", "", wire.Rejected},
		{project.ErrChanged, 409, "changed", "project_changed", "", wire.Rejected},
		{project.ErrExists, 409, "exists", "project_name_taken", "name", wire.Rejected},
		{project.ErrFolderTaken, 409, "folder_taken", "folder_taken", "folders", wire.Rejected},
		{&orchestrator.UntrustedError{Folder: "/w"}, 409, "folder_untrusted", "folder_new_settings", "", wire.Rejected},
		{session.ErrNoAttachment, 404, "no_attachment", "no_attachment", "attachments", wire.Rejected},
		{session.ErrNotFound, 404, "not_found", "session_not_found", "", wire.Rejected},
		{session.ErrCursor, 400, "invalid", "cursor_unknown", "cursor", wire.Rejected},
		{session.ErrExists, 409, "exists", "session_exists", "", wire.Rejected},
		{orchestrator.ErrNotRunning, 409, "not_running", "not_running", "", wire.Rejected},
		{orchestrator.ErrRunning, 409, "running", "running", "", wire.Rejected},
		{orchestrator.ErrClosing, 503, "unavailable", "going_away", "", wire.Rejected},
		{orchestrator.ErrRunnerLost, 503, "unavailable", "runner_lost", "", wire.Rejected},
		{account.ErrRefused, 401, "not_signed_in", "not_signed_in", "", wire.Rejected},
		{account.ErrChanged, 409, "changed", "changed", "", wire.Rejected},
		{account.ErrNotFound, 404, "not_found", "not_found", "", wire.Rejected},
		{session.ErrNoRunner, 404, "not_found", "not_found", "", wire.Rejected},
		{alert.ErrNotFound, 404, "not_found", "not_found", "", wire.Rejected},
		{errDisk, 503, "read_only", "disk_full", "", wire.Rejected},
		{context.DeadlineExceeded, 503, "unavailable", "not_in_time", "", wire.Rejected},
		{io.ErrUnexpectedEOF, 500, "internal", "internal", "", wire.Rejected},
		{refusal.For("after", "entry_number"), 400, "invalid", "entry_number", "after", wire.Rejected},
	} {
		r := table.Of(fmt.Errorf("edge: %w", c.err))
		if r.Status != c.status || r.Body.Code != c.code || r.Body.Reason != c.reason || r.Body.Field != c.field || r.Result != c.result || r.Body.Message == "" {
			t.Errorf("%v: got %d %s %+v", c.err, r.Status, r.Result, r.Body)
		}
		if !errors.Is(r, c.err) {
			t.Errorf("%v: the log does not say it: %v", c.err, r)
		}
	}
	if asked != 1 {
		t.Errorf("the store was reported %d times, want once", asked)
	}
}

func TestFinal(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]bool{"user_name_taken": true, "not_running": true, "not_signed_in": false, "start_not_allowed": false, "too_many_attempts": false, "internal": false} {
		if got := refusal.New(reason).Final(); got != want {
			t.Errorf("%s: final %v, want %v", reason, got, want)
		}
	}
}
