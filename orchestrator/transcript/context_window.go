package transcript

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/session"
)

// noteContext records the number of input tokens of an answer.
func (b *Builder) noteContext(m *claude.Assistant) {
	if m.ParentToolUseID != "" {
		return // a subagent has a separate context
	}
	var u claude.Usage
	if json.Unmarshal(m.Usage, &u) != nil {
		return // of an unexpected type: the context stays unknown
	}
	// Like /context in both CLIs, this does not count the answer itself. API errors have no
	// input tokens.
	if given := u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens; given > 0 {
		b.Context, b.ContextModel = given, m.Model
	}
}

// compactionNote returns the note about a compaction of the conversation.
func compactionNote(m *claude.System, now time.Time) session.Item {
	var f struct {
		Metadata struct {
			Trigger string  `json:"trigger"` // manual or auto
			Before  float64 `json:"pre_tokens"`
			After   float64 `json:"post_tokens"`
		} `json:"compact_metadata"`
	}
	_ = json.Unmarshal(m.Raw, &f) // fields of an unexpected type count as unknown
	const maxTokens = 1e12
	tokens := func(n float64) int { return int(max(0, min(n, maxTokens))) }
	text := statement.New("conversation_compacted")
	return session.Item{Key: m.UUID, At: now, Kind: session.ItemNote, Body: Encode(session.NoteBody{
		Level: "info", Text: text, Reasons: statement.Reasons("text", text),
		Compaction: &session.Compaction{Before: tokens(f.Metadata.Before), After: tokens(f.Metadata.After), Manual: f.Metadata.Trigger == "manual"},
	})}
}

// takeContext returns the tokens in the context at the end of a turn and the size of the
// context window, or 0, 0 if either is unknown. It resets the count for the next turn.
func (b *Builder) takeContext(m *claude.Result) (tokens, window int) {
	tokens, model := b.Context, b.ContextModel
	b.Context, b.ContextModel = 0, ""
	var models map[string]struct {
		Window int `json:"contextWindow"`
	}
	if tokens == 0 || json.Unmarshal(m.ModelUsage, &models) != nil {
		return 0, 0
	}
	// The key may contain the window, as in claude-x[1m], while answers name the model
	// claude-x. The first message of the turn uses the same name as the key.
	name := model
	if plain, _, _ := strings.Cut(b.Model, "["); plain == model {
		name = b.Model
	}
	if window = models[name].Window; window <= 0 {
		return 0, 0
	}
	return tokens, window
}
