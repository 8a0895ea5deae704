package wire_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sayso-dev/sayso/wire"
	"github.com/sayso-dev/sayso/wire/wiretest"
)

var update = flag.Bool("update", false, "rewrite the golden messages and the TypeScript types")

const goldenDir = "testdata/messages"

// TestGoldenMessages holds every frame and command against its file, which the
// web tests read too, and refuses a file that nothing produces.
func TestGoldenMessages(t *testing.T) {
	t.Parallel()
	all := wiretest.Frames()
	for name, c := range wiretest.Commands() {
		all[name] = c
	}
	for name, v := range all {
		checkGolden(t, filepath.Join(goldenDir, name+".json"), indent(t, wire.Encode(v)))
	}
	files, err := filepath.Glob(filepath.Join(goldenDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		if _, ok := all[name[:len(name)-len(".json")]]; !ok {
			t.Errorf("%s is produced by no message; remove it", f)
		}
	}
	readCommands(t)
}

// readCommands reads each command back as the server does.
func readCommands(t *testing.T) {
	t.Helper()
	for name, want := range wiretest.Commands() {
		data, err := os.ReadFile(filepath.Join(goldenDir, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
		if err := wire.Decode(data, got); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if g, w := wire.Encode(got), wire.Encode(want); !bytes.Equal(compact(t, g), compact(t, w)) {
			t.Errorf("%s: got %s, want %s", name, g, w)
		}
	}
}

func checkGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run go generate ./wire", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not current; run go generate ./wire and look at the difference.\ngot:\n%s", file, got)
	}
}

func indent(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func compact(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
