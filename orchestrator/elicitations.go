package orchestrator

import (
	"encoding/json"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// elicited is an elicitation that the CLI waits for. The CLI does not list it for a client
// that attaches later, so it is stored with the position in the journal.
type elicited struct {
	Body json.RawMessage `json:"body"` // the request as the CLI sent it
	// Calls are the tool calls of its MCP server that were running when it arrived. The old CLI
	// withdraws no elicitation: once all these calls have a result, nobody waits for an answer.
	Calls []string `json:"calls,omitempty"`
	// Answered is our id of the request once the CLI has the answer, else "". The elicitation is
	// kept until the calls have results.
	Answered  string `json:"answered,omitempty"`
	abandoned chan struct{}
}

// elicitations are the elicitations of one process. It is safe for concurrent use.
type elicitations struct {
	mu   sync.Mutex
	byID map[string]*elicited // by request id of the CLI; see close
}

// restore restores what an earlier server stored.
func (es *elicitations) restore(stored map[string]*elicited) {
	for _, e := range stored {
		e.abandoned = make(chan struct{})
	}
	es.mu.Lock()
	defer es.mu.Unlock()
	es.byID = stored
}

// stored returns a copy for the next server, to be stored.
func (es *elicitations) stored() map[string]*elicited {
	es.mu.Lock()
	defer es.mu.Unlock()
	list := make(map[string]*elicited, len(es.byID))
	for id, e := range es.byID {
		list[id] = &elicited{Body: e.Body, Calls: slices.Clone(e.Calls), Answered: e.Answered}
	}
	return list
}

// add adds an elicitation of an MCP server. running yields the ids of the running tool calls and
// the names of their tools.
func (es *elicitations) add(requestID string, body json.RawMessage, running iter.Seq2[string, string]) {
	var r struct {
		Server string `json:"mcp_server_name"`
	}
	_ = json.Unmarshal(body, &r) // without a server name, its calls are unknown
	e := &elicited{Body: slices.Clone(body), abandoned: make(chan struct{})}
	prefix := "mcp__" + toolNameOf(r.Server) + "__"
	for id, toolName := range running {
		if r.Server != "" && strings.HasPrefix(toolName, prefix) {
			e.Calls = append(e.Calls, id)
		}
	}
	es.mu.Lock()
	defer es.mu.Unlock()
	if es.byID == nil {
		es.byID = map[string]*elicited{}
	}
	es.byID[requestID] = e
}

var notInToolName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// toolNameOf returns the part of a tool's name that identifies its MCP server.
func toolNameOf(server string) string { return notInToolName.ReplaceAllString(server, "_") }

// open returns the elicitations without an answer, as the CLI sent them.
func (es *elicitations) open() map[string]json.RawMessage {
	es.mu.Lock()
	defer es.mu.Unlock()
	open := make(map[string]json.RawMessage, len(es.byID))
	for id, e := range es.byID {
		if e.Answered == "" {
			open[id] = e.Body
		}
	}
	return open
}

// abandoned returns a channel that is closed when nobody waits for an elicitation any longer; nil
// for an unknown elicitation.
func (es *elicitations) abandoned(requestID string) <-chan struct{} {
	es.mu.Lock()
	defer es.mu.Unlock()
	if e := es.byID[requestID]; e != nil {
		return e.abandoned
	}
	return nil
}

// finishCall ends the elicitations whose last tool call now has its result, and returns our ids of
// those whose answer is thereby consumed.
func (es *elicitations) finishCall(toolUseID string) (consumed []string) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for id, e := range es.byID {
		i := slices.Index(e.Calls, toolUseID)
		if i < 0 {
			continue
		}
		if e.Calls = slices.Delete(e.Calls, i, i+1); len(e.Calls) > 0 {
			continue
		}
		if e.Answered == "" {
			close(e.abandoned)
			continue
		}
		consumed = append(consumed, e.Answered)
		delete(es.byID, id)
	}
	return consumed
}

// close drops an elicitation that needs no further answer. answered is our id of the request if the
// answer reached the CLI, else "". An answered elicitation is kept until its calls have results;
// without calls it is consumed now, because nothing else will show that the CLI acted on the answer.
// After a detach, all elicitations are kept.
func (es *elicitations) close(requestID, answered string, detached bool) (consumed bool) {
	es.mu.Lock()
	defer es.mu.Unlock()
	e := es.byID[requestID]
	if detached || e != nil && answered != "" && len(e.Calls) > 0 {
		if e != nil {
			e.Answered = answered
		}
		return false
	}
	delete(es.byID, requestID)
	return answered != ""
}
