package review

import (
	"path"
	"strings"
)

func (c *call) curl() {
	c.found.fetches = true
	level, kind, why := Medium, Network, "Connects to another machine."
	for i, a := range c.args {
		next := field{static: true}
		if i+1 < len(c.args) {
			next = c.args[i+1]
		}
		switch {
		case a.text == "-o" || a.text == "--output":
			c.fetchedTo(next)
		case strings.HasPrefix(a.text, "--output="):
			a.text = strings.TrimPrefix(a.text, "--output=")
			c.fetchedTo(a)
		case strings.HasPrefix(a.text, "-o") && len(a.text) > 2:
			a.text = a.text[2:]
			c.fetchedTo(a)
		case a.text == "-K" || a.text == "--config":
			c.markArg(a, Script, Medium, "Its options are in a file that is not shown here.")
		case a.text == "-T" || strings.HasPrefix(a.text, "--upload"):
			level, kind, why = High, Upload, "Sends a file to another machine."
		case a.text == "-F" || strings.HasPrefix(a.text, "--form") || strings.HasPrefix(a.text, "--data") || strings.HasPrefix(a.text, "-d") || strings.HasPrefix(a.text, "--json") || strings.HasPrefix(a.text, "-F"):
			value := next
			if _, v, ok := strings.Cut(a.text, "="); ok {
				value = a
				value.text = v
			} else if len(a.text) > 2 && !strings.HasPrefix(a.text, "--") {
				value = a
				value.text = a.text[2:]
			}
			if level != High {
				level, kind, why = Medium, Upload, "Sends data to another machine."
			}
			if !value.static || strings.HasPrefix(value.text, "@") || strings.Contains(value.text, "=@") || strings.Contains(value.text, "=<") {
				level, kind, why = High, Upload, "Sends files or computed data to another machine."
			}
		case (a.text == "-X" || a.text == "--request") && (next.text == "DELETE" || next.text == "delete"):
			level, kind, why = High, Remote, "Asks another machine to delete data."
		case strings.HasPrefix(a.text, "-") && strings.Contains(a.text, "O") && !strings.HasPrefix(a.text, "--"), a.text == "--remote-name":
			for _, url := range c.operands() {
				c.w.fetched[c.w.resolve(path.Base(url.text))] = true
			}
		case strings.HasPrefix(a.text, "file:"):
			c.markArg(a, ReadSecret, Medium, "Reads a file on this machine.")
		case !a.static && a.open:
			c.markArg(a, Upload, Medium, "The data sent to another machine is computed at run time.")
		case !a.static && strings.Contains(a.text, "?"), !a.static && strings.Contains(a.text, "="):
			level, kind, why = High, Upload, "Sends computed data to another machine."
		}
	}
	c.markCommand(kind, level, why)
}

func (c *call) fetchedTo(f field) {
	if f.text == "" || f.text == "-" {
		return
	}
	c.w.fetched[c.w.resolve(f.text)] = true
	c.w.markWriteTo(f)
}

func (c *call) wget() {
	usesNetwork(c)
	for i, a := range c.args {
		switch {
		case (a.text == "-O" || a.text == "--output-document") && i+1 < len(c.args):
			if c.args[i+1].text == "-" || c.args[i+1].text == "/dev/stdout" {
				c.found.fetches = true
			}
			c.fetchedTo(c.args[i+1])
		case strings.HasPrefix(a.text, "-") && strings.HasSuffix(a.text, "O-"), strings.HasSuffix(a.text, "O") && strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && i+1 < len(c.args) && c.args[i+1].text == "-":
			c.found.fetches = true
		case strings.HasPrefix(a.text, "--output-document="):
			a.text = strings.TrimPrefix(a.text, "--output-document=")
			c.found.fetches = c.found.fetches || a.text == "-"
			c.fetchedTo(a)
		case strings.HasPrefix(a.text, "--post-") || strings.HasPrefix(a.text, "--body-"):
			c.markArg(a, Upload, High, "Sends data to another machine.")
		case strings.HasPrefix(a.text, "--use-askpass") || strings.HasPrefix(a.text, "-e") || strings.HasPrefix(a.text, "--execute"):
			c.markArg(a, Launcher, High, "An option that can run a program.")
		case !strings.HasPrefix(a.text, "-"):
			base := path.Base(a.text)
			base, _, _ = strings.Cut(base, "?")
			c.w.fetched[c.w.resolve(base)] = true
		}
	}
}

func (c *call) netcat() {
	c.found.fetches = true
	if c.has("ec", "exec", "sh-exec") {
		c.markCommand(Launcher, High, "Lets another machine run commands on this one.")
		return
	}
	c.markCommand(Network, High, "Opens a raw network connection.")
}

func (c *call) socat() {
	c.found.fetches = true
	c.markCommand(Network, High, "Connects programs, files and other machines.")
}

func (c *call) ssh() {
	c.found.fetches = true
	usesNetwork(c)
	for _, a := range c.args {
		lower := strings.ToLower(a.text)
		if strings.Contains(lower, "proxycommand") || strings.Contains(lower, "localcommand") || a.text == "-F" {
			c.markCommand(Launcher, High, "Runs the program named in an option.")
		}
		if a.text == "-R" || a.text == "-L" || a.text == "-D" || strings.HasPrefix(a.text, "-R") {
			c.markArg(a, Network, High, "Connects two networks.")
		}
	}
	rest := c.args
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		takes := len(rest[0].text) == 2 && strings.ContainsAny(rest[0].text[1:], "bcDEeFIiJLlmOopQRSWw")
		rest = rest[1:]
		if takes && len(rest) > 0 {
			rest = rest[1:]
		}
	}
	if len(rest) < 2 {
		if len(rest) == 1 {
			c.found.runsInput, c.found.inputAt = true, c.place
		}
		return
	}
	c.markCommand(Remote, High, "Runs a command on another machine.")
	var words []string
	for _, a := range rest[1:] {
		words = append(words, a.text)
	}
	// Paths on the other machine are not paths here. The effects of the command are marked
	// anyway.
	at := rest[1].place
	at.to = max(at.to, rest[len(rest)-1].place.to)
	cwd := c.w.cwd
	c.w.cwd = "?"
	c.w.walkNested(strings.Join(words, " "), at)
	c.w.cwd = cwd
}

func (c *call) scp() {
	if c.has("So") {
		c.markCommand(Launcher, High, "Runs the program named in an option.")
	}
	list := c.operands()
	if len(list) == 0 {
		return
	}
	last := list[len(list)-1]
	if strings.Contains(last.text, ":") || !last.static {
		c.markCommand(Upload, High, "Sends files to another machine.")
		return
	}
	usesNetwork(c)
	c.fetchedTo(last)
}
