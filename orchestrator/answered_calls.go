package orchestrator

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// answered is a request that a person has answered.
type answered struct {
	ToolUseID string    `json:"-"`
	RequestID string    `json:"request_id"`
	ToolName  string    `json:"tool_name"`
	At        time.Time `json:"at"`
}

// answeredCalls lists the calls that have an answer but no result yet. A state shares the backing
// array with the next state, so that adding an answer copies nothing; only the newest state may
// append to it.
type answeredCalls []answered

func (c answeredCalls) find(toolUseID string) (answered, bool) {
	i := c.index(toolUseID)
	if i < 0 {
		return answered{}, false
	}
	return c[i], true
}

func (c answeredCalls) ofRequest(requestID string) (answered, bool) {
	i := slices.IndexFunc(c, func(a answered) bool { return a.RequestID == requestID })
	if i < 0 {
		return answered{}, false
	}
	return c[i], true
}

func (c answeredCalls) index(toolUseID string) int {
	return slices.IndexFunc(c, func(a answered) bool { return a.ToolUseID == toolUseID })
}

func (c answeredCalls) with(a answered) answeredCalls {
	return append(c.without(a.ToolUseID), a)
}

func (c answeredCalls) without(toolUseID string) answeredCalls {
	i := c.index(toolUseID)
	if i < 0 {
		return c
	}
	return slices.Concat(c[:i], c[i+1:])
}

// MarshalJSON writes an object by tool_use id, the format of earlier releases.
func (c answeredCalls) MarshalJSON() ([]byte, error) {
	byID := make(map[string]answered, len(c))
	for _, a := range c {
		byID[a.ToolUseID] = a
	}
	return json.Marshal(byID)
}

// UnmarshalJSON reads the format of MarshalJSON.
func (c *answeredCalls) UnmarshalJSON(text []byte) error {
	var byID map[string]answered
	if err := json.Unmarshal(text, &byID); err != nil {
		return err
	}
	*c = nil
	for id, a := range byID {
		a.ToolUseID = id
		*c = append(*c, a)
	}
	slices.SortFunc(*c, func(a, b answered) int { return strings.Compare(a.ToolUseID, b.ToolUseID) })
	return nil
}
