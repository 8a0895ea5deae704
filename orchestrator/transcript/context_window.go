package transcript

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/session"
)

// noteContext notes how many tokens the model was given for an answer.
func (b *Builder) noteContext(m *claude.Assistant) {
	if m.ParentToolUseID != "" {
		return // a subagent has a context of its own
	}
	var u claude.Usage
	if json.Unmarshal(m.Usage, &u) != nil {
		return // of another shape: the context stays unknown
	}
	// Counts as /context of both CLIs does: without the answer itself. An API error has
	// no input.
	if given := u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens; given > 0 {
		b.Context, b.ContextModel = given, m.Model
	}
}

// compactionNote returns the note about a summary of the conversation.
func compactionNote(m *claude.System, now time.Time) session.Item {
	var f struct {
		Metadata struct {
			Trigger string  `json:"trigger"` // manual or auto
			Before  float64 `json:"pre_tokens"`
			After   float64 `json:"post_tokens"`
		} `json:"compact_metadata"`
	}
	_ = json.Unmarshal(m.Raw, &f) // what has another type is unknown
	const maxTokens = 1e12
	tokens := func(n float64) int { return int(max(0, min(n, maxTokens))) }
	text := statement.New("conversation_compacted")
	return session.Item{Key: m.UUID, At: now, Kind: session.ItemNote, Body: Encode(session.NoteBody{
		Level: "info", Text: text, Reasons: statement.Reasons("text", text),
		Compaction: &session.Compaction{Before: tokens(f.Metadata.Before), After: tokens(f.Metadata.After), Manual: f.Metadata.Trigger == "manual"},
	})}
}

// takeContext returns the tokens in the context at the end of a turn and the size of the
// context window, or 0, 0 when they are unknown. It forgets them for the next turn.
func (b *Builder) takeContext(m *claude.Result) (tokens, window int) {
	tokens, model := b.Context, b.ContextModel
	b.Context, b.ContextModel = 0, ""
	var models map[string]struct {
		Window int `json:"contextWindow"`
	}
	if tokens == 0 || json.Unmarshal(m.ModelUsage, &models) != nil {
		return 0, 0
	}
	// The key may carry the window, as in claude-x[1m], where answers say claude-x. The
	// first message of the turn names the model as the key does.
	name := model
	if plain, _, _ := strings.Cut(b.Model, "["); plain == model {
		name = b.Model
	}
	if window = models[name].Window; window <= 0 {
		return 0, 0
	}
	return tokens, window
}
