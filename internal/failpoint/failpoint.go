// Package failpoint names the steps between the stdout of the CLI and its stdin
// at which a test lets the program die or a step fail.
//
// # Usage
//
// A point before a step returns why the step is not to be done, one after it why
// its caller is to be told that it failed:
//
//	if err := failpoint.Hit("deliver.before_write"); err != nil {
//		return err
//	}
//	return failpoint.After("deliver.after_write", write(line))
//
// Without the build tag failpoints all of this is compiled to nothing. With it,
// SAYSO_FAILPOINTS says what happens where, as in
// "open.before_commit:kill@2,shim.publish.before:hang=5s":
//
//	kill      this process gets SIGKILL
//	error     [ErrInjected]: before a step it is not done, after a step it is
//	timeout   the step is done and its caller is told [ErrTimeout]; a point
//	          before a step hands this on to its twin behind it
//	hang=5s   the step takes so much longer
//
// @n is the n-th hit, the first when there is none; it happens once. With
// SAYSO_FAILPOINTS_DIR, a folder, hits are counted in files named as the points
// are, one byte each, by all processes together, so that a server that was
// restarted goes on counting; the file "fired" there gets a line for each point
// that did something.
package failpoint

// Point is one named place.
type Point struct {
	Name string
	// Twin is the point behind the step that begins here; "" when Name is behind
	// its step itself.
	Twin string
}

// Points is every place there is. A name begins with the step: of the shim where
// it says so, else of the server.
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
		"begun.before_commit", "begun.after_commit", // Claude knows the conversation
		"queue.before_commit", "queue.after_commit", // a message
		"sent.before_commit", "sent.after_commit",
		"requeue.before_commit", "requeue.after_commit",
		"flush.before_commit", "flush.after_commit",
		"bury.before_commit", "bury.after_commit", // a process that is gone at the start
		"open.before_commit", "open.after_commit",
		"answer.before_commit", "answer.after_commit",
		"hold.before_commit", "hold.after_commit", // an answer that does not count yet
		"unhold.before_commit", "unhold.after_commit", // it was taken back
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
