package claudetest

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram is an environment variable that makes a test binary play the CLI.
const asProgram = "CLAUDETEST_AS_PROGRAM"

// A test binary that links this package can play the CLI itself, so that tests need not build a
// program.
func init() {
	if os.Getenv(asProgram) != "" {
		os.Unsetenv(asProgram)
		os.Unsetenv("GORACE")
		Main()
		os.Exit(0)
	}
}

// Program creates an executable that plays script. It returns the path of the executable and that of
// its record file, for [ReadRecords]. The executable is a wrapper around this test binary, and needs
// no environment variables.
func Program(t testing.TB, script Script) (path, record string) {
	t.Helper()
	path, record, err := Executable(t.TempDir(), script)
	if err != nil {
		t.Fatal(err)
	}
	return path, record
}

// Executable is [Program] for use outside a test, such as in an example. It creates the executable in
// dir, which must exist.
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
	// Otherwise a program with the race detector sleeps for a second before it exits.
	wrapper := "#!/bin/sh\nGORACE=atexit_sleep_ms=0 " + asProgram + "=1 CLAUDETEST_SCRIPT='" + scriptFile + "' CLAUDETEST_RECORD='" + record + "' exec '" + self + "' \"$@\"\n"
	for name, content := range map[string]string{scriptFile: string(text), path: wrapper} {
		if err := os.WriteFile(name, []byte(content), 0o700); err != nil {
			return "", "", err
		}
	}
	return path, record, nil
}

// ReadRecords returns what a program has recorded in the file path so far.
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
