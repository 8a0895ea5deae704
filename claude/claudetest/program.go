package claudetest

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram is set in the environment of a test binary that plays the CLI.
const asProgram = "CLAUDETEST_AS_PROGRAM"

// A test binary that links this package can play the CLI itself, so that tests build no
// program.
func init() {
	if os.Getenv(asProgram) != "" {
		os.Unsetenv(asProgram)
		os.Unsetenv("GORACE")
		Main()
		os.Exit(0)
	}
}

// Program creates an executable that plays script (a wrapper around this test binary). It
// returns its path and the path of its record file. The executable needs no variables of the
// environment.
func Program(t testing.TB, script Script) (path, record string) {
	t.Helper()
	path, record, err := Executable(t.TempDir(), script)
	if err != nil {
		t.Fatal(err)
	}
	return path, record
}

// Executable is [Program] outside of a test, such as in an example: it creates the executable in a
// folder that exists.
func Executable(dir string, script Script) (path, record string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", "", err
	}
	text, err := json.Marshal(script)
	if err != nil {
		return "", "", err
	}
	scriptFile, record := filepath.Join(dir, "script.json"), filepath.Join(dir, "record.jsonl")
	path = filepath.Join(dir, "claude")
	// A program with the race detector otherwise sleeps for a second at its end.
	wrapper := "#!/bin/sh\nGORACE=atexit_sleep_ms=0 " + asProgram + "=1 CLAUDETEST_SCRIPT='" + scriptFile + "' CLAUDETEST_RECORD='" + record + "' exec '" + self + "' \"$@\"\n"
	for name, content := range map[string]string{scriptFile: string(text), path: wrapper} {
		if err := os.WriteFile(name, []byte(content), 0o700); err != nil {
			return "", "", err
		}
	}
	return path, record, nil
}

// ReadRecords returns what a program has recorded so far.
func ReadRecords(t testing.TB, path string) []Record {
	t.Helper()
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []Record
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return all // the last line is incomplete
		}
		var rec Record
		if err := json.Unmarshal([]byte(strings.TrimSpace(line)), &rec); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, rec)
	}
}
