package orchestrator

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/session"
)

// What the CLI tells beside what Claude says: how full its context is, and what a
// tool did to a file.

// answeredWith notes how much the model was given for an answer.
func (s *scribe) answeredWith(m *claude.Assistant) {
	if m.ParentToolUseID != "" {
		return // a subagent has a context of its own
	}
	var u claude.Usage
	if json.Unmarshal(m.Usage, &u) != nil {
		return // of another shape: nothing is told then
	}
	// As /context of both CLIs counts: without what the answer itself adds. What is not
	// of a model, an error of the API, was given nothing.
	if given := u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens; given > 0 {
		s.Context, s.ContextModel = given, m.Model
	}
}

// fullness is what that is at the end of a turn, and of how much; 0, 0 when it is not
// known. The next turn begins without it.
func (s *scribe) fullness(m *claude.Result) (tokens, window int) {
	tokens, model := s.Context, s.ContextModel
	s.Context, s.ContextModel = 0, ""
	var models map[string]struct {
		Window int `json:"contextWindow"`
	}
	if tokens == 0 || json.Unmarshal(m.ModelUsage, &models) != nil {
		return 0, 0
	}
	// A model may stand there with its window, claude-x[1m], where its answers say
	// claude-x; the beginning of the turn names it as it stands there.
	name := model
	if plain, _, _ := strings.Cut(s.Model, "["); plain == model {
		name = s.Model
	}
	if window = models[name].Window; window <= 0 {
		return 0, 0
	}
	return tokens, window
}

// mostTold is how large a result may be for us to look into it: it may hold the whole
// file twice.
const mostTold = 4 << 20

// changeOf is what a tool did to a file, as its result tells; nil when it does not.
func changeOf(tool string, result json.RawMessage) *session.FileChange {
	if len(result) > mostTold {
		return nil
	}
	switch tool {
	case "Edit", "MultiEdit", "Write":
		return patched(result)
	case "NotebookEdit":
		var r struct {
			Path   string `json:"notebook_path"`
			Source string `json:"new_source"`
			Mode   string `json:"edit_mode"`
		}
		// Of a cell that was there before only the two texts are told.
		if json.Unmarshal(result, &r) == nil && r.Path != "" && r.Mode == "insert" {
			return &session.FileChange{Path: r.Path, Added: linesIn(r.Source)}
		}
	}
	return nil
}

func patched(result json.RawMessage) *session.FileChange {
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
		change.Added = linesIn(content)
	case r.Type == "update" && bytes.Equal(r.Content, r.Original): // the same again
	default:
		return nil
	}
	return change
}

func linesIn(text string) int {
	if text == "" {
		return 0
	}
	return strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
}
