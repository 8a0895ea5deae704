// Package review says what a person should know of a tool call before they
// decide about it: which parts of a command are risky and why, what an edit does
// to the file as it is, what else a rule would allow. It is pure: what is on disk
// is handed to it, and it never decides.
//
// A level is what was found, no promise: a program can do anything, and low only
// says that every part of the input was understood and is of the harmless sort.
package review

// Level is how much harm was found.
type Level string

const (
	Low    Level = "low"
	Medium Level = "medium"
	High   Level = "high"
)

var rank = map[Level]int{"": 0, Low: 1, Medium: 2, High: 3}

// atLeast is the higher of two levels.
func atLeast(a, b Level) Level {
	if rank[a] >= rank[b] {
		return a
	}
	return b
}

// Kind names what was found. The web app has words of its own for each; Reason of
// a [Mark] is the English sentence.
type Kind string

const (
	Delete         Kind = "delete"          // removes files
	DeleteTree     Kind = "delete_tree"     // removes folders with all that is in them
	Privilege      Kind = "privilege"       // runs as another user
	DownloadRun    Kind = "download_run"    // runs what was fetched from the network
	DecodeRun      Kind = "decode_run"      // runs what was decoded
	PipeRun        Kind = "pipe_run"        // runs text that another command prints
	Computed       Kind = "computed"        // which command runs is computed
	Evaluated      Kind = "evaluated"       // eval, source and the like
	Substitution   Kind = "substitution"    // the output of a command becomes part of another
	InlineCode     Kind = "inline_code"     // code of another language in the command
	Launcher       Kind = "launcher"        // runs another program, named in its arguments
	Script         Kind = "script"          // runs a file
	Unknown        Kind = "unknown"         // a program that is not known here
	Background     Kind = "background"      // goes on after the call
	GitForce       Kind = "git_force"       // replaces history on the other side
	GitDiscard     Kind = "git_discard"     // throws away work
	GitPush        Kind = "git_push"        // sends work to another machine
	Permissions    Kind = "permissions"     // changes who may do what with files
	Disk           Kind = "disk"            // writes to disks and file systems
	Kill           Kind = "kill"            // ends processes
	System         Kind = "system"          // changes the machine
	Persist        Kind = "persist"         // arranges that something runs later
	Environment    Kind = "environment"     // a variable that makes programs run code
	Redefine       Kind = "redefine"        // gives a command another meaning
	WriteOutside   Kind = "write_outside"   // writes outside the folder of the session
	WriteSensitive Kind = "write_sensitive" // writes to a file that others trust
	ReadSecret     Kind = "read_secret"     // reads what looks like a secret
	Overwrite      Kind = "overwrite"       // replaces a file
	Network        Kind = "network"         // talks to another machine
	Upload         Kind = "upload"          // sends data to another machine
	Install        Kind = "install"         // installs code of others, which may run at once
	Remote         Kind = "remote"          // changes or removes things elsewhere
	Hidden         Kind = "hidden"          // characters that cannot be seen or told apart
	Unreadable     Kind = "unreadable"      // could not be understood
	Wildcard       Kind = "wildcard"        // of a rule: stands for any command
	WholeTool      Kind = "whole_tool"      // of a rule: every use of a tool
	AnyArguments   Kind = "any_arguments"   // of a rule: the rest of the command is open
)

// Mark is one place in a text that a person should look at. From and To count
// UTF-16 units, as a browser does.
type Mark struct {
	From   int
	To     int
	Kind   Kind
	Level  Level
	Reason string // one English sentence
}
