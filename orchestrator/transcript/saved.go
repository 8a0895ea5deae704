package transcript

import (
	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/session"
)

// Saved builds the items of a part of a conversation that a CLI has saved.
type Saved struct {
	builder *Builder
	items   []session.Item
	index   map[string]int // into items, by key
}

// NewSaved returns a Saved without messages.
func NewSaved() *Saved { return &Saved{builder: New(), index: map[string]int{}} }

// Add applies the next message.
func (s *Saved) Add(m claude.SavedMessage) {
	if u, ok := m.Message.(*claude.User); ok {
		prompt := claude.PromptOf(u)
		if !m.IsMeta && prompt != "" {
			s.put(session.Item{Key: MessageKey(u.UUID), At: m.At, Kind: session.ItemUser, Body: Encode(session.UserBody{Text: truncate(prompt)})})
		}
		// Results complete their calls. Without a UUID, Apply ignores texts, which the CLI has added.
		results := *u
		results.UUID = ""
		s.put(s.builder.Apply(&results, m.At).Items...)
		return
	}
	s.put(s.builder.Apply(m.Message, m.At).Items...)
}

// Items closes the calls without a result and returns all items, numbered from 1.
func (s *Saved) Items() []session.Item {
	s.put(s.builder.CloseCalls(true)...)
	for i := range s.items {
		s.items[i].Seq, s.items[i].Rev = int64(i+1), int64(i+1)
	}
	return s.items
}

func (s *Saved) put(items ...session.Item) {
	for _, item := range items {
		if at, known := s.index[item.Key]; known {
			item.At = s.items[at].At
			s.items[at] = item
			continue
		}
		s.index[item.Key] = len(s.items)
		s.items = append(s.items, item)
	}
}
