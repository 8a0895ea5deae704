// Package failpoint names the steps between the CLI's stdout and its stdin at which a test
// can kill the program or make a step fail.
//
// # Usage
//
// At a point before a step, an error means that the step must not run. At a point after a
// step, the caller gets the error although the step has run:
//
//	if err := failpoint.Hit("deliver.before_write"); err != nil {
//		return err
//	}
//	return failpoint.After("deliver.after_write", write(line))
//
// Without the build tag failpoints, all of this compiles to nothing. With it, the
// environment variable SAYSO_FAILPOINTS injects faults, as in
// "open.before_commit:kill@2,shim.publish.before:hang=5s":
//
//	kill      this process gets SIGKILL
//	error     the step fails with [ErrInjected]: at a point before it, it does not run
//	timeout   the step runs and fails with [ErrTimeout], also at a point before it
//	hang=5s   the step takes 5 s longer
//
// @n selects the n-th hit, by default the first. A fault happens once. With
// SAYSO_FAILPOINTS_DIR, all processes together count the hits, so that a restarted server
// continues the count: that folder has a file for each point, with one byte per hit. Its
// file "fired" gets a line for each fault that happened.
package failpoint

// Point is one failpoint.
type Point struct {
	Name string
	// Twin is the point after the step, if Name is the point before it; else "".
	Twin string
}

// Points lists all failpoints. A name starts with the step. Those of the shim start with
// "shim", all others are in the server.
func Points() []Point {
	names := []string{
		// The shim.
		"shim.start.before", "shim.start.after", // the CLI
		"shim.attach.before", "shim.attach.after",
		"shim.journal.before_append", "shim.journal.after_append",
		"shim.publish.before", "shim.publish.after",
		"shim.write.before_pipe", "shim.write.after_pipe",
		"", "shim.write.before_ack",
		"shim.exit.before_record", "shim.exit.after_record",
		"shim.release.before", "shim.release.after",
		// The server and its shims.
		"launch.before_start", "launch.after_start",
		"adopt.before_attach", "adopt.after_attach",
		"reconcile.before", "reconcile.after",
		"ingest.before", "ingest.after",
		"decision.before_send", "decision.after_send",
		"message.before_send", "message.after_send",
		"forget.before", "forget.after",
		// The server and its tabs.
		"answer.received", "answer.handled",
		"ack.before_send", "ack.after_send",
		"frame.before_send", "frame.after_send",
		// The server and its database.
		"epoch.before_commit", "epoch.after_commit",
		"create.before_commit", "create.after_commit", // a session
		"begun.before_commit", "begun.after_commit", // Claude has started the conversation
		"queue.before_commit", "queue.after_commit", // a message
		"sent.before_commit", "sent.after_commit",
		"requeue.before_commit", "requeue.after_commit",
		"flush.before_commit", "flush.after_commit",
		"bury.before_commit", "bury.after_commit", // a process that was gone when the server started
		"open.before_commit", "open.after_commit",
		"answer.before_commit", "answer.after_commit",
		"hold.before_commit", "hold.after_commit", // an answer in its undo window
		"unhold.before_commit", "unhold.after_commit", // its undo
		"withdraw.before_commit", "withdraw.after_commit",
		"orphan.before_commit", "orphan.after_commit",
		"carry.before_commit", "carry.after_commit",
		"delivered.before_commit", "delivered.after_commit",
		"consumed.before_commit", "consumed.after_commit",
		"dropped.before_commit", "dropped.after_commit",
		"command.before_commit", "command.after_commit", // its ack
	}
	var all []Point
	for i := 0; i < len(names); i += 2 {
		if names[i] != "" {
			all = append(all, Point{Name: names[i], Twin: names[i+1]})
		}
		all = append(all, Point{Name: names[i+1]})
	}
	return all
}
