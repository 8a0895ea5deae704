//go:build failpoints

package matrix_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// A scenario is a way on which points lie. Each is left with sessions that have
// something to do; finish and verify do the rest.
type scenario struct {
	name string
	play func(ctx context.Context, h *house) error
}

var (
	// answering: two sessions, approvals and a question, a message that waits its
	// turn.
	answering = scenario{"answering", func(ctx context.Context, h *house) error {
		one, err := h.begin(ctx, approve("one"), question("two"), say("Done."))
		if err != nil {
			return err
		}
		two, err := h.begin(ctx, approve("three"))
		if err != nil {
			return err
		}
		h.tell(ctx, one, claudetest.Step{Ask: approve("four").Ask, Count: 2, Parallel: true})
		h.tell(ctx, two, question("five"))
		return nil
	}}

	// restarting: the server is killed while requests are open; the CLI withdraws
	// two of them while it is away.
	restarting = scenario{"restarting", func(ctx context.Context, h *house) error {
		h.hold("held")
		c, err := h.begin(ctx, cancelled("one", 400*time.Millisecond), cancelled("two", 400*time.Millisecond), approve("held"))
		if err != nil {
			return err
		}
		for _, name := range []string{"cancel one", "cancel two"} {
			// A cell may have let its time run out.
			_ = h.await(ctx, name+" is asked", func() bool { return count(h.asked(c.id), name) > 0 })
			if err := h.crash(ctx, func() error { time.Sleep(500 * time.Millisecond); return nil }); err != nil {
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

	// dying: the CLI dies while it asks, twice, and is resumed by the answer.
	dying = scenario{"dying", func(ctx context.Context, h *house) error {
		c, err := h.begin(ctx, approve("die one"), say("Done."))
		if err != nil {
			return err
		}
		h.tell(ctx, c, question("die two"))
		return nil
	}}

	// dropping: as dying, but what was answered is not asked again.
	dropping = scenario{"dropping", func(ctx context.Context, h *house) error {
		c, err := h.begin(ctx, approve("drop one"), say("Done."))
		if err != nil {
			return err
		}
		h.tell(ctx, c, approve("drop two"), say("Done."))
		return nil
	}}

	// losing: what runs is lost with the folders of the shims while the server is
	// away, twice.
	losing = scenario{"losing", func(ctx context.Context, h *house) error {
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
	forgetting = scenario{"forgetting", func(ctx context.Context, h *house) error {
		for _, name := range []string{"forget one", "forget two"} {
			if _, err := h.begin(ctx, approve(name)); err != nil {
				return err
			}
		}
		return nil
	}}
)

// lose ends every process of a house and removes what the shims left.
func (h *house) lose() error {
	end := exec.Command(sayso, "kill-all", "--state-dir", h.config.StateDir())
	end.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.folder}
	if err := end.Run(); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(h.config.StateDir(), "shims"))
}
