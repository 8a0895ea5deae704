// Package review tells the person who decides about a tool call what the call would do:
//
//   - [Place.ReadCommand] parses a shell command and marks its risky parts, each with a reason;
//   - [ReadChange] shows what an edit would do to the current file;
//   - [ReadRule] shows what else a permission rule would allow.
//
// It assigns each call a [Level]. By default a level is medium or high, depending on the
// risks that were found; the rules for them are in files named by subject, such as
// network.go. A level is low only if the whole input was understood and every program in it
// is called in a way that readers.go lists as reading only (see reading.go). Only low calls
// can be approved in bulk. A level is no guarantee, because a program can do anything once it
// runs.
//
// The package performs no I/O: callers pass the state of files, and approve or deny.
package review

// Level is the risk level of a tool call.
type Level string

const (
	Low    Level = "low"
	Medium Level = "medium"
	High   Level = "high"
)

var rank = map[Level]int{"": 0, Low: 1, Medium: 2, High: 3}

// atLeast returns the higher of two levels.
func atLeast(a, b Level) Level {
	if rank[a] >= rank[b] {
		return a
	}
	return b
}

// Risk is the kind of a risk. The web app translates it; Reason of a [Mark] is its English
// description.
type Risk string

const (
	Delete         Risk = "delete"          // removes files
	DeleteTree     Risk = "delete_tree"     // removes folders and their contents
	Privilege      Risk = "privilege"       // runs as another user
	DownloadRun    Risk = "download_run"    // runs code from the network
	DecodeRun      Risk = "decode_run"      // runs decoded text
	PipeRun        Risk = "pipe_run"        // runs text that another command prints
	Computed       Risk = "computed"        // the name of the program is computed
	Evaluated      Risk = "evaluated"       // eval, source and similar
	Substitution   Risk = "substitution"    // the output of a command becomes part of another one
	InlineCode     Risk = "inline_code"     // code of another language in the command
	Launcher       Risk = "launcher"        // runs another program, named in its arguments
	Script         Risk = "script"          // runs a file
	Unknown        Risk = "unknown"         // an unknown program
	Background     Risk = "background"      // continues after the call
	GitForce       Risk = "git_force"       // replaces history on a remote
	GitDiscard     Risk = "git_discard"     // discards work
	GitPush        Risk = "git_push"        // sends work to another machine
	Permissions    Risk = "permissions"     // changes permissions or owners of files
	Disk           Risk = "disk"            // writes to disks and file systems
	Kill           Risk = "kill"            // ends processes
	System         Risk = "system"          // changes the machine
	Persist        Risk = "persist"         // makes something run later
	Environment    Risk = "environment"     // a variable that makes programs run code
	Redefine       Risk = "redefine"        // redefines a command
	WriteOutside   Risk = "write_outside"   // writes outside the folder of the session
	WriteSensitive Risk = "write_sensitive" // writes to a file that other programs trust
	ReadSecret     Risk = "read_secret"     // reads what looks like a secret
	Overwrite      Risk = "overwrite"       // replaces a file
	Network        Risk = "network"         // connects to another machine
	Upload         Risk = "upload"          // sends data to another machine
	Install        Risk = "install"         // installs third-party code, which may run at once
	Remote         Risk = "remote"          // changes or deletes data elsewhere
	ReadOutside    Risk = "read_outside"    // reads outside the folder of the session
	Unproven       Risk = "unproven"        // not known to only read
	Hidden         Risk = "hidden"          // invisible or confusable characters
	Unreadable     Risk = "unreadable"      // could not be parsed
	Wildcard       Risk = "wildcard"        // of a rule: matches any command
	WholeTool      Risk = "whole_tool"      // of a rule: covers every use of a tool
	AnyArguments   Risk = "any_arguments"   // of a rule: leaves the rest of the command open
)

// Mark is a range of a text that a person should check. From and To count UTF-16 units, as
// browsers do.
type Mark struct {
	From   int
	To     int
	Kind   Risk
	Level  Level
	Reason string // one English sentence
}
