package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// TestReleaseFiles writes the files of a release that follow from its archives: the formula names each
// archive with its sum, the entry for the MCP registry has its schema, and the provenance lists all.
func TestReleaseFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	read := func(path string) []byte {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	version := strings.TrimSpace(versionFile)
	sums := map[string]string{}
	for _, platform := range []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"} {
		name := fmt.Sprintf("sayso-v%s-%s.tar.gz", version, platform)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(platform), 0o600); err != nil {
			t.Fatal(err)
		}
		sums[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(platform)))
	}
	const commit = "0123456789012345678901234567890123456789"
	if said, err := exec.Command("node", "../../scripts/release-files.mjs", dir, version, commit).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}

	formula := string(read(filepath.Join(dir, "sayso.rb")))
	for name, sum := range sums {
		if !strings.Contains(formula, "/v"+version+"/"+name+"\"\n      sha256 \""+sum+"\"\n") {
			t.Errorf("the formula lacks %s with %s:\n%s", name, sum, formula)
		}
	}

	var schema jsonschema.Schema
	if err := json.Unmarshal(read("testdata/mcp-server.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var entry map[string]any
	if err := json.Unmarshal(read(filepath.Join(dir, "server.json")), &entry); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(entry); err != nil {
		t.Errorf("server.json: %v", err)
	}
	if entry["version"] != version {
		t.Errorf("server.json has version %v", entry["version"])
	}
	delete(entry, "description")
	if resolved.Validate(entry) == nil {
		t.Error("the schema takes an entry without a description")
	}

	var statement struct {
		Type    string `json:"_type"`
		Subject []struct {
			Name   string
			Digest struct{ SHA256 string }
		}
		PredicateType string
	}
	text := read(filepath.Join(dir, "sayso.intoto.json"))
	if err := json.Unmarshal(text, &statement); err != nil {
		t.Fatal(err)
	}
	if statement.Type != "https://in-toto.io/Statement/v1" || statement.PredicateType != "https://slsa.dev/provenance/v1" || !bytes.Contains(text, []byte(commit)) {
		t.Errorf("provenance: %s", text)
	}
	for _, name := range []string{"sayso.rb", "server.json"} {
		sums[name] = fmt.Sprintf("%x", sha256.Sum256(read(filepath.Join(dir, name))))
	}
	for _, s := range statement.Subject {
		if sums[s.Name] != s.Digest.SHA256 {
			t.Errorf("%s has the sum %s in the provenance, not %s", s.Name, s.Digest.SHA256, sums[s.Name])
		}
		delete(sums, s.Name)
	}
	if len(sums) > 0 {
		t.Errorf("not in the provenance: %v", sums)
	}
}
