package review

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
)

func (c *call) rm() {
	recursive := c.has("rR", "recursive", "no-preserve-root")
	if recursive || c.hasComputedArg() && !c.word("--") {
		c.tree()
	} else {
		c.markCommand(Delete, Medium, "Deletes files.")
	}
	for _, a := range c.operands() {
		if a.glob {
			c.markArg(a, Delete, Medium, "A pattern may match more files than expected.")
		}
	}
	c.targets(recursive)
}

func (c *call) tree() { c.markCommand(DeleteTree, High, "Deletes folders and everything in them.") }

// targets marks paths outside the session's folder, and the folder as a whole.
func (c *call) targets(recursive bool) {
	for _, a := range c.operands() {
		full := c.w.resolve(strings.TrimSuffix(strings.TrimSuffix(a.text, "*"), "/"))
		switch {
		case !a.static:
			c.markArg(a, Computed, Medium, "The file name is computed at run time.")
		case full == "?" || !c.w.inFolder(full) && !strings.HasPrefix(full, "/tmp/"):
			c.markArg(a, WriteOutside, High, "Outside the session folder.")
		case recursive && full == c.w.root:
			c.markArg(a, DeleteTree, High, "The whole session folder.")
		case whySensitive(full) != "":
			c.markArg(a, WriteSensitive, High, whySensitive(full))
		}
	}
}

func (c *call) moves() {
	c.mark(Overwrite, Low, "Moves files, and overwrites existing ones.")
	for _, a := range c.operands() {
		if !a.static {
			c.markArg(a, Computed, Medium, "The file name is computed at run time.")
		} else {
			c.w.markWriteTo(a)
		}
	}
}

func (c *call) copies() {
	list := c.operands()
	if len(list) == 0 {
		return
	}
	last := list[len(list)-1]
	for i, a := range c.args {
		if a.text == "-t" && i+1 < len(c.args) {
			last = c.args[i+1]
		} else if dir, ok := strings.CutPrefix(a.text, "--target-directory="); ok {
			last = a
			last.text = dir
		}
	}
	if !last.static {
		c.markArg(last, Computed, Medium, "The name of the file to write is computed at run time.")
	} else if !c.w.markWriteTo(last) {
		c.mark(Overwrite, Low, "Overwrites the target if it exists.")
	}
	if c.name == "ln" {
		for _, a := range list[:len(list)-1] {
			if full := c.w.resolve(a.text); !a.static || !c.w.inFolder(full) {
				c.markArg(a, WriteOutside, Medium, "A link from the session folder to a place outside it.")
			}
		}
	}
	if c.name == "install" && c.has("m", "mode") {
		c.chmodMode()
	}
}

func (c *call) makes() {
	for _, a := range c.operands() {
		if !a.static {
			c.markArg(a, Computed, Low, "The file name is computed at run time.")
		} else {
			c.w.markWriteTo(a)
		}
	}
}

func (c *call) tee() {
	for _, a := range c.operands() {
		if !a.static {
			c.markArg(a, Computed, Medium, "The name of the file to write is computed at run time.")
		} else if !c.w.markWriteTo(a) && !c.has("a", "append") {
			c.markArg(a, Overwrite, Low, "Overwrites the file if it exists.")
		}
	}
}

func (c *call) rsync() {
	if c.has("", "delete", "remove-source-files") || c.word("--del") {
		c.markCommand(DeleteTree, High, "Deletes files that do not exist on the other side.")
	}
	if c.has("e", "rsh", "rsync-path") {
		c.markCommand(Launcher, High, "Runs the program named in an option.")
	}
	list := c.operands()
	for i, a := range list {
		switch {
		case strings.Contains(a.text, ":"):
			c.markArg(a, Upload, Medium, "Copies files from or to another machine.")
		case i == len(list)-1:
			c.w.markWriteTo(a)
		}
	}
}

var sedRuns = lazyregexp.New(`(^|[;{}\n/0-9$!\s])e(\s|$|;)|/[gipmIM0-9]*e[gipmIM0-9w]*(\s*$|\s*[;}\n])`)
var sedWrites = lazyregexp.New(`(^|[;{}\n/0-9$!\s])[wW]\s+\S|/[gipmIM0-9e]*w\s+\S`)

func (c *call) sed() {
	if c.has("i", "in-place") {
		c.mark(Overwrite, Low, "Changes files in place.")
		for i, a := range c.operands() {
			if i > 0 || c.has("e", "expression") {
				c.w.markWriteTo(a)
			}
		}
	}
	for _, a := range c.args {
		switch {
		case !a.static:
			c.markArg(a, Computed, Low, "The target of the change is computed at run time.")
		case strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "-e"):
		case sedRuns.MatchString(a.text):
			c.markArg(a, InlineCode, High, "Runs text as a command (sed command e).")
		case sedWrites.MatchString(a.text):
			c.markArg(a, WriteOutside, Medium, "Writes to a file (sed command w).")
		}
	}
	if c.has("f", "file") {
		c.mark(Script, Medium, "Runs a file that is not shown here.")
	}
}

func (c *call) editor() {
	c.markCommand(InlineCode, Medium, "An editor can also run commands.")
}

func (c *call) find() {
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch a.text {
		case "-delete":
			c.markCommand(DeleteTree, High, "Deletes every file it finds.")
		case "-exec", "-execdir", "-ok", "-okdir":
			c.markArg(a, Launcher, Low, "Runs a command for every file it finds.")
			end := i + 1
			for end < len(c.args) && c.args[end].text != ";" && c.args[end].text != "+" {
				end++
			}
			inner := slices.Clone(c.args[i+1 : end])
			for j := range inner {
				if inner[j].text == "{}" {
					inner[j].static = j > 0
					inner[j].text = "found-file"
				}
			}
			c.run(inner)
			i = end
		case "-fprint", "-fprintf", "-fls", "-fprint0":
			if i+1 < len(c.args) {
				c.w.markWriteTo(c.args[i+1])
			}
		}
		if !a.static && a.open {
			c.markArg(a, Computed, Medium, "The search, or what runs for its results, is computed at run time.")
		}
	}
}

// run assesses arguments as a command that this one runs. What it finds about the output of
// that command applies to this one, too; what it finds about the input does not.
func (c *call) run(args []field) {
	if len(args) > 0 {
		f := c.w.runArgs(args, c.place, nil)
		f.runsInput = false
		c.found = c.found.merge(f)
	}
}

func (c *call) fd() {
	for i, a := range c.args {
		if slices.Contains([]string{"-x", "-X", "--exec", "--exec-batch"}, a.text) {
			c.markArg(a, Launcher, Low, "Runs a command for every file it finds.")
			c.run(c.args[i+1:])
			return
		}
	}
}

func (c *call) rg() {
	if c.has("", "pre") {
		c.markCommand(Launcher, High, "Runs a program for every file: --pre.")
	}
}

func (c *call) sort() {
	if c.has("", "compress-program") {
		c.markCommand(Launcher, High, "Runs a program: --compress-program.")
	}
	for i, a := range c.args {
		if a.text == "-o" && i+1 < len(c.args) {
			c.w.markWriteTo(c.args[i+1])
		} else if strings.HasPrefix(a.text, "-o") && len(a.text) > 2 {
			a.text = a.text[2:]
			c.w.markWriteTo(a)
		} else if to, ok := strings.CutPrefix(a.text, "--output="); ok {
			a.text = to
			c.w.markWriteTo(a)
		}
	}
}

func (c *call) pager() {
	if c.has("P", "pager") && c.name == "man" || c.has("K") && c.name == "less" {
		c.markCommand(Launcher, High, "Runs a program named in an option.")
	}
}

// xargs assesses the command that xargs runs with arguments from its input.
func (c *call) xargs() {
	found, sure := c.launchedArgs()
	rest := c.args
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		takes := slices.Contains([]string{"-n", "-P", "-I", "-L", "-d", "-s", "-E", "-a", "-j", "--max-args", "--max-procs", "--replace", "--jobs", "--arg-file", "--delimiter"}, rest[0].text)
		rest = rest[1:]
		if takes && len(rest) > 0 {
			rest = rest[1:]
		}
	}
	if sure {
		rest = found
	}
	c.mark(Launcher, Low, "Runs a command with arguments printed by another one.")
	if len(rest) == 0 {
		if c.name == "parallel" {
			c.found.runsInput, c.found.inputAt = true, c.place
		}
		return
	}
	printed := slices.Clone(rest)
	if place, replaces := c.replaced(len(c.args) - len(rest)); replaces {
		for i, a := range printed {
			printed[i].open = a.open || strings.Contains(a.text, place)
		}
	} else {
		printed = append(printed, field{place: c.place, open: true})
	}
	f := c.w.runArgs(printed, c.place, nil)
	name := strings.ToLower(path.Base(rest[0].text))
	if f.runsInput || shells[name] || name == "eval" || name == "env" && len(rest) == 1 {
		c.found.runsInput, c.found.inputAt = true, c.place
	}
	if name == "rm" || name == "rmdir" || name == "unlink" || name == "shred" {
		c.markCommand(DeleteTree, High, "Deletes the files that another command names.")
	}
	if rest[0].static && strings.Contains(rest[0].text, "{}") {
		c.markArg(rest[0], Computed, High, "The command is computed at run time.")
	}
}

// replaced returns the placeholder in the options of xargs, and whether there is one.
func (c *call) replaced(options int) (string, bool) {
	for i, a := range c.args[:options] {
		switch {
		case strings.HasPrefix(a.text, "--"):
			if name, text, has := strings.Cut(a.text, "="); name == "--replace" {
				return cmp.Or(text, "{}"), has || text == ""
			}
		case strings.HasPrefix(a.text, "-"):
			if at := strings.IndexAny(a.text, "IiJR"); at > 0 {
				text := a.text[at+1:]
				if text == "" && a.text[at] != 'i' && i+1 < options {
					text = c.args[i+1].text
				}
				return cmp.Or(text, "{}"), true
			}
		}
	}
	return "", false
}

func (c *call) fzf() {
	if c.has("", "bind", "preview", "execute") {
		c.markCommand(Launcher, High, "Runs commands named in its options.")
	}
}
