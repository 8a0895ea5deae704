package main

import (
	"context"
	"flag"
	"net/http"
	"os"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// killFlags are the flags of sayso kill.
type killFlags struct {
	remoteFlags
	force bool
}

func (f *killFlags) define(flags *flag.FlagSet) {
	flags.BoolVar(&f.force, "force", false, "kill at once, without waiting for Claude")
	f.remoteFlags.define(flags)
}

// killSession stops the process of a session.
func killSession(ctx context.Context, args []string, std streams) error {
	var f killFlags
	rest, err := parseFlags(newFlags("kill", f.define), args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return usageError("it needs the id of one session; 'sayso sessions' lists them")
	}
	r, err := f.connect()
	if err != nil {
		return err
	}
	defer r.Close()
	id, err := findSession(ctx, r, rest[0])
	if err != nil {
		return err
	}
	before, err := get[wire.Session](ctx, r, "/api/sessions/"+id)
	if err != nil {
		return err
	}
	// Even without a process: the session may be waiting for capacity.
	var out wire.Outcome
	if err := r.do(ctx, http.MethodPost, "/api/sessions/"+id+"/kill", map[string]any{"force": f.force}, &out); err != nil {
		return err
	}
	if f.json {
		return printJSON(std.out, map[string]any{"session_id": id, "result": out.Result})
	}
	to := newScreen(std.out, os.Getenv)
	if p := before.ProcessState; p == nil || p.State == session.Dead {
		to.printf("Session %s is not running. It can be resumed.\n", shortID(id))
		return nil
	}
	to.printf("Session %s is being stopped. It can be resumed.\n", shortID(id))
	return nil
}
