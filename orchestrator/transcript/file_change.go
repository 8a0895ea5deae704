package transcript

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sayso-dev/sayso/session"
)

// maxParsedResult bounds the tool results that are parsed, in bytes. A result may contain
// the whole file twice.
const maxParsedResult = 4 << 20

// fileChange returns what a tool did to a file according to its result, nil if the result
// does not report that.
func fileChange(tool string, result json.RawMessage) *session.FileChange {
	if len(result) > maxParsedResult {
		return nil
	}
	switch tool {
	case "Edit", "MultiEdit", "Write":
		return patchOf(result)
	case "NotebookEdit":
		var r struct {
			Path   string `json:"notebook_path"`
			Source string `json:"new_source"`
			Mode   string `json:"edit_mode"`
		}
		// For an existing cell, the result has only the old and the new text.
		if json.Unmarshal(result, &r) == nil && r.Path != "" && r.Mode == "insert" {
			return &session.FileChange{Path: r.Path, Added: countLines(r.Source)}
		}
	}
	return nil
}

func patchOf(result json.RawMessage) *session.FileChange {
	var r struct {
		Type     string          `json:"type"` // create or update, of Write
		Path     string          `json:"filePath"`
		Content  json.RawMessage `json:"content"`
		Original json.RawMessage `json:"originalFile"`
		Patch    []struct {
			Lines []string `json:"lines"`
		} `json:"structuredPatch"`
	}
	if json.Unmarshal(result, &r) != nil || r.Path == "" {
		return nil
	}
	change := &session.FileChange{Path: r.Path}
	switch {
	case len(r.Patch) > 0:
		for _, hunk := range r.Patch {
			for _, line := range hunk.Lines {
				switch {
				case strings.HasPrefix(line, "+"):
					change.Added++
				case strings.HasPrefix(line, "-"):
					change.Removed++
				}
			}
		}
	case r.Type == "create":
		var content string
		if json.Unmarshal(r.Content, &content) != nil {
			return nil
		}
		change.Added = countLines(content)
	case r.Type == "update" && bytes.Equal(r.Content, r.Original): // unchanged
	default:
		return nil
	}
	return change
}

func countLines(text string) int {
	if text == "" {
		return 0
	}
	return strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
}
