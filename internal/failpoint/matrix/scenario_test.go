//go:build failpoints

package matrix_test

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// A scenario is a way on which points lie. Each is left with sessions that have
// something to do; finish and verify do the rest.
type scenario struct {
	name string
	play func(ctx context.Context, h *harness) error
	// patience is that of a cell; 0 is cellPatience.
	patience time.Duration
}

var (
	// answering: two sessions, approvals and a question, a message that waits its
	// turn.
	answering = scenario{name: "answering", play: func(ctx context.Context, h *harness) error {
		one, err := h.begin(ctx, approve("one"), question("two"), say("Done."))
		if err != nil {
			return err
		}
		two, err := h.begin(ctx, approve("three"))
		if err != nil {
			return err
		}
		h.tell(ctx, one, claudetest.Step{Ask: approve("many").Ask, Count: 2, Parallel: true})
		h.tell(ctx, two, question("five"))
		return nil
	}}

	// restarting: the server is killed while requests are open; the CLI withdraws
	// two of them while it is away.
	restarting = scenario{name: "restarting", play: func(ctx context.Context, h *harness) error {
		h.hold("held")
		const patience = 1500 * time.Millisecond // longer than a request takes to be shown, also on a busy machine
		c, err := h.begin(ctx, cancelled("one", patience), cancelled("two", patience), approve("held"))
		if err != nil {
			return err
		}
		for _, name := range []string{"cancel one", "cancel two"} {
			withdrawn := func() bool { return h.standing(c).done[name] > 0 }
			if err := h.await(ctx, name+" is shown", func() bool { return shows(h.tabs[0], c.id, name) || withdrawn() }); err != nil {
				return err
			}
			err := h.crash(ctx, func() error {
				away, cancel := context.WithTimeout(ctx, 10*time.Second) // the CLI may have gone with the server
				defer cancel()
				_ = h.await(away, name+" is withdrawn", withdrawn)
				return nil
			})
			if err != nil {
				return err
			}
			// No kill of ours is to come in the way of a point's.
			if err := h.await(ctx, name+" is gone", func() bool {
				return !lists(h.tabs[0], c.id, name) && !lists(h.tabs[1], c.id, name)
			}); err != nil {
				return err
			}
		}
		if err := h.visible(ctx, c, "held"); err != nil {
			return err
		}
		if err := h.crash(ctx, nil); err != nil {
			return err
		}
		if err := h.visible(ctx, c, "held"); err != nil {
			return err
		}
		h.release("held")
		return nil
	}}

	// undoing: an answer is held and taken back, twice, each time before one counts.
	undoing = scenario{name: "undoing", play: func(ctx context.Context, h *harness) error {
		for _, name := range []string{"held one", "held two"} {
			h.hold(name)
			c, err := h.begin(ctx, approve(name))
			if err != nil {
				return err
			}
			if err := h.visible(ctx, c, name); err != nil {
				return err
			}
			t := h.tabs[0]
			r := t.requestNamed(c.id, name)
			for _, fields := range []map[string]any{
				// As long as can be, so that no start of a server takes longer.
				{"type": "pending_request_response", "request_type": r.RequestType, "decision": "deny", "message": "taken back", "undo_ms": 10_000},
				{"type": "undo"},
			} {
				fields["session_id"], fields["request_id"] = c.id, r.RequestID
				given := t.give(ctx, fields)
				if err := h.await(ctx, name+" is acked", func() bool {
					select {
					case <-given.done:
						return true
					default:
						return false
					}
				}); err != nil {
					return err
				}
			}
			h.release(name)
		}
		return nil
	}}

	// dying: the CLI dies while it asks, twice, and is resumed by the answer.
	dying = scenario{name: "dying", play: func(ctx context.Context, h *harness) error {
		c, err := h.begin(ctx, approve("die one"), say("Done."))
		if err != nil {
			return err
		}
		h.tell(ctx, c, question("die two"))
		return nil
	}}

	// dropping: as dying, but what was answered is not asked again.
	dropping = scenario{name: "dropping", play: func(ctx context.Context, h *harness) error {
		c, err := h.begin(ctx, approve("drop one"), say("Done."))
		if err != nil {
			return err
		}
		h.tell(ctx, c, approve("drop two"), say("Done."))
		return nil
	}}

	// losing: what runs is lost with the folders of the shims while the server is
	// away, twice.
	losing = scenario{name: "losing", play: func(ctx context.Context, h *harness) error {
		for _, name := range []string{"held one", "held two"} {
			h.hold(name)
			c, err := h.begin(ctx, approve(name))
			if err != nil {
				return err
			}
			if err := h.visible(ctx, c, name); err != nil {
				return err
			}
			if err := h.crash(ctx, h.lose); err != nil {
				return err
			}
			if err := h.visible(ctx, c, name); err != nil {
				return err
			}
			h.release(name)
		}
		return nil
	}}

	// forgetting: the CLI dies while it asks and has saved nothing.
	forgetting = scenario{name: "forgetting", play: func(ctx context.Context, h *harness) error {
		for _, name := range []string{"forget one", "forget two"} {
			if _, err := h.begin(ctx, approve(name)); err != nil {
				return err
			}
		}
		return nil
	}}
)

// lose ends every process of a harness and removes what the shims left.
func (h *harness) lose() error {
	quiet := h.config
	quiet.Environ = nil
	if err := quiet.KillAll(); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(h.config.StateDir(), "shims"))
}
