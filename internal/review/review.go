// Package review explains a tool call to the person who decides about it:
//
//   - [Place.ReadCommand] parses a shell command and marks its risky parts, each with a reason;
//   - [ReadChange] shows what an edit does to the file as it is now;
//   - [ReadRule] says what else a permission rule would allow.
//
// Each call gets a [Level]. Low is proved: every part of the input was understood, and
// readers.go lists each program with its arguments as harmless (see reading.go). The files
// named for a subject, such as network.go, hold what raises a level. Calls that are not low
// cannot be approved in bulk. A level promises nothing: a program can do anything once it
// runs.
//
// The package does no I/O, callers pass it what is on disk; and it decides nothing.
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

// Risk names what was found. The web app has words of its own for each; Reason of
// a [Mark] is the English sentence.
type Risk string

const (
	Delete         Risk = "delete"          // removes files
	DeleteTree     Risk = "delete_tree"     // removes folders with all that is in them
	Privilege      Risk = "privilege"       // runs as another user
	DownloadRun    Risk = "download_run"    // runs what was fetched from the network
	DecodeRun      Risk = "decode_run"      // runs what was decoded
	PipeRun        Risk = "pipe_run"        // runs text that another command prints
	Computed       Risk = "computed"        // which command runs is computed
	Evaluated      Risk = "evaluated"       // eval, source and the like
	Substitution   Risk = "substitution"    // the output of a command becomes part of another
	InlineCode     Risk = "inline_code"     // code of another language in the command
	Launcher       Risk = "launcher"        // runs another program, named in its arguments
	Script         Risk = "script"          // runs a file
	Unknown        Risk = "unknown"         // a program that is not known here
	Background     Risk = "background"      // goes on after the call
	GitForce       Risk = "git_force"       // replaces history on the other side
	GitDiscard     Risk = "git_discard"     // throws away work
	GitPush        Risk = "git_push"        // sends work to another machine
	Permissions    Risk = "permissions"     // changes who may do what with files
	Disk           Risk = "disk"            // writes to disks and file systems
	Kill           Risk = "kill"            // ends processes
	System         Risk = "system"          // changes the machine
	Persist        Risk = "persist"         // arranges that something runs later
	Environment    Risk = "environment"     // a variable that makes programs run code
	Redefine       Risk = "redefine"        // gives a command another meaning
	WriteOutside   Risk = "write_outside"   // writes outside the folder of the session
	WriteSensitive Risk = "write_sensitive" // writes to a file that others trust
	ReadSecret     Risk = "read_secret"     // reads what looks like a secret
	Overwrite      Risk = "overwrite"       // replaces a file
	Network        Risk = "network"         // talks to another machine
	Upload         Risk = "upload"          // sends data to another machine
	Install        Risk = "install"         // installs code of others, which may run at once
	Remote         Risk = "remote"          // changes or removes things elsewhere
	ReadOutside    Risk = "read_outside"    // reads outside the folder of the session
	Unproven       Risk = "unproven"        // not known to only read
	Hidden         Risk = "hidden"          // characters that cannot be seen or told apart
	Unreadable     Risk = "unreadable"      // could not be understood
	Wildcard       Risk = "wildcard"        // of a rule: stands for any command
	WholeTool      Risk = "whole_tool"      // of a rule: every use of a tool
	AnyArguments   Risk = "any_arguments"   // of a rule: the rest of the command is open
)

// Mark is one place in a text that a person should look at. From and To count
// UTF-16 units, as a browser does.
type Mark struct {
	From   int
	To     int
	Kind   Risk
	Level  Level
	Reason string // one English sentence
}
