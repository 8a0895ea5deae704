package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	fenced      = regexp.MustCompile("(?ms)^```\\w*\n(.*?)^```")
	inlineCode  = regexp.MustCompile("`([^`\n]+)`")
	commandLine = regexp.MustCompile(`(?:^|[\s(;&|])sayso((?: +[^\s#;&|<>)]+)*)`)
	verbWord    = regexp.MustCompile(`^[a-z][a-z-]*$`)
	flagName    = regexp.MustCompile(`(?m)^ +--?([a-z][a-z-]*)`)
)

// internalVerbs are run by sayso itself and have no help.
var internalVerbs = []string{"shim", "enter"}

// TestCommandsInDocumentsExist runs each `sayso …` command that a document names with
// --help, and fails when the command or one of its flags does not exist.
func TestCommandsInDocumentsExist(t *testing.T) {
	t.Parallel()
	sayso, err := program()
	must(t, err)
	var lock sync.Mutex
	help := map[string]string{}
	helpOf := func(words ...string) string {
		lock.Lock()
		defer lock.Unlock()
		key := strings.Join(words, " ")
		if _, ok := help[key]; !ok {
			// What a verb prints is judged below, not its exit code: some end with 2.
			out, _ := exec.Command(sayso, append(slices.Clone(words), "--help")...).CombinedOutput()
			help[key] = string(out)
		}
		return help[key]
	}
	usage := helpOf()

	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		must(t, err)
		files = append(files, found...)
	}
	commands := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		for _, words := range saysoCommands(string(text)) {
			commands++
			verb, rest := "serve", words
			if verbWord.MatchString(words[0]) {
				verb, rest = words[0], words[1:]
			}
			if slices.Contains(internalVerbs, verb) {
				continue
			}
			if !strings.Contains(usage, "sayso "+verb) {
				t.Errorf("%s names `sayso %s`, which does not exist", file, strings.Join(words, " "))
				continue
			}
			page := helpOf(verb)
			if len(rest) > 0 && verbWord.MatchString(rest[0]) && (verb == "user" || verb == "audit" || verb == "mcp") {
				if verb != "mcp" && !strings.Contains(page, "sayso "+verb+" "+rest[0]) {
					t.Errorf("%s names `sayso %s %s`, which does not exist", file, verb, rest[0])
					continue
				}
				page = helpOf(verb, rest[0])
			}
			known := []string{"help"}
			for _, match := range flagName.FindAllStringSubmatch(page, -1) {
				known = append(known, match[1])
			}
			for _, word := range rest {
				name, isFlag := strings.CutPrefix(word, "--")
				if name, _, _ = strings.Cut(name, "="); isFlag && !slices.Contains(known, name) {
					t.Errorf("%s names `sayso %s`, which has no --%s", file, strings.Join(words, " "), name)
				}
			}
		}
	}
	if commands < 30 {
		t.Fatalf("only %d commands were found", commands)
	}
}

// saysoCommands returns the words behind "sayso" of each command in the code of a document.
func saysoCommands(text string) [][]string {
	var code []string
	for _, match := range fenced.FindAllStringSubmatch(text, -1) {
		code = append(code, strings.Split(match[1], "\n")...)
	}
	for _, match := range inlineCode.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		code = append(code, match[1])
	}
	var commands [][]string
	for _, line := range code {
		line, _, _ = strings.Cut(line, " # ")
		for _, match := range commandLine.FindAllStringSubmatch(line, -1) {
			words := strings.Fields(match[1])
			for i := range words {
				words[i] = strings.Trim(words[i], `'",.`)
			}
			isCommand := len(words) > 0 && (verbWord.MatchString(words[0]) || strings.HasPrefix(words[0], "--"))
			if prefix := line[:strings.Index(line, match[0])]; isCommand && !notCommand(prefix) {
				commands = append(commands, words)
			}
		}
	}
	return commands
}

// notCommand reports whether what stands before the word sayso makes it the argument of
// another program or the name of something.
func notCommand(prefix string) bool {
	prefix = strings.TrimSpace(prefix)
	return prefix != "" && !strings.HasSuffix(prefix, "|") && !strings.HasSuffix(prefix, "&&") && prefix != "sudo" && !strings.HasSuffix(prefix, "run")
}
