package scriptedmodel

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// messagesRequest is the part of a Messages API request that decides the reply.
type messagesRequest struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	System   json.RawMessage   `json:"system"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []message         `json:"messages"`
	Metadata struct {
		UserID string `json:"user_id"`
	} `json:"metadata"`
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is the blocks of a message; a bare string is one text block.
type content []contentBlock

type contentBlock struct {
	Type      string  `json:"type"`
	Text      string  `json:"text"`
	Name      string  `json:"name"` // of the tool of a tool_use
	ToolUseID string  `json:"tool_use_id"`
	Content   content `json:"content"`
	IsError   bool    `json:"is_error"`
	Title     string  `json:"title"`
	Source    struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

// attached describes an image or a document: its type, media type, size in bytes, the start of its
// SHA-256, and title. It returns "" for any other block.
func (b contentBlock) attached() string {
	if b.Type != "image" && b.Type != "document" {
		return ""
	}
	data := []byte(b.Source.Data)
	if b.Source.Type == "base64" {
		data, _ = base64.StdEncoding.DecodeString(b.Source.Data) // invalid base64 has size 0
	}
	sum := sha256.Sum256(data)
	return strings.TrimSpace(fmt.Sprintf("%s %s %d %x %s", b.Type, b.Source.MediaType, len(data), sum[:4], b.Title))
}

func (c *content) UnmarshalJSON(data []byte) error {
	if firstByte(data) == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: s}}
		return nil
	}
	var blocks []contentBlock
	if err := json.Unmarshal(data, &blocks); err != nil {
		return err
	}
	*c = blocks
	return nil
}

func (c content) text() string {
	var parts []string
	for _, b := range c {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// toolNames returns the names of the offered tools, in the order of the request.
func (r *messagesRequest) toolNames() []string {
	names := make([]string, 0, len(r.Tools))
	for _, raw := range r.Tools {
		var t struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(raw, &t) == nil && t.Name != "" {
			names = append(names, t.Name)
		}
	}
	return names
}

// offers reports whether a tool can be called. New CLIs list some tools only by name, one per line,
// and load their schemas later; calls of those work too.
func (r *messagesRequest) offers(tool string) bool {
	for _, name := range r.toolNames() {
		// Task is called Agent in the request; the CLI accepts both names.
		if name == tool || name == "Agent" && tool == "Task" {
			return true
		}
	}
	return strings.Contains(r.allText(), "\n"+tool+"\n")
}

// holds reports whether the If of a block is true.
func (r *messagesRequest) holds(condition string) bool {
	kind, tool, _ := strings.Cut(condition, ":")
	switch kind {
	case "tool":
		return r.offers(tool)
	case "no_tool":
		return !r.offers(tool)
	case "ok", "error":
		all := r.toolResults()
		failed := len(all) > 0 && all[len(all)-1].IsError
		return failed == (kind == "error")
	}
	return true
}

// scripted returns the script of the conversation and how many of its replies have been used. It
// ignores scripts in tool results, because a file that Claude reads must not take over.
func (r *messagesRequest) scripted() (name, body string, spent int, ok bool) {
	var previous string // role of the previous API message, except the CLI's remarks
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			if m.Content.text() != noResponse && !m.waitsForServers() {
				spent++
			}
			previous = m.Role
			continue
		}
		if (m.serversConnecting() || r.connectedSince(m)) && spent > 0 {
			spent-- // the reply is sent again
		}
		for _, b := range m.Content {
			if b.Type != "text" {
				previous = "user"
				continue
			}
			if m.Role != "user" && !midTurn.MatchString(b.Text) {
				continue // new CLIs insert their remarks as "system"
			}
			if n, s, found := findScript(b.Text); found {
				name, body, spent, ok = n, s, 0, true
			}
			// A reply that was interrupted before its first block leaves no assistant
			// message. Otherwise this remark directly follows the assistant's message.
			if strings.HasPrefix(b.Text, interrupted) && previous != "assistant" {
				spent++
			}
			previous = "user"
		}
	}
	return name, body, spent, ok
}

// waitTool is the tool with which a model waits until the MCP servers are connected. The CLI starts
// a turn after about two seconds even if they are not.
const waitTool = "WaitForMcpServers"

// connecting is the CLI's refusal of a call to an MCP server that is not connected yet.
const connecting = "is still connecting. Call " + waitTool

// waitsForServers reports whether an assistant message only calls waitTool.
func (m message) waitsForServers() bool {
	return len(m.Content) == 1 && m.Content[0].Name == waitTool
}

// serversConnecting reports whether every call of a message was refused because its MCP
// server is not connected yet.
func (m message) serversConnecting() bool {
	return m.refused(func(reason string) bool { return strings.Contains(reason, connecting) })
}

// unknownTool matches the CLI's refusal of a call to a tool that its request did not offer.
var unknownTool = regexp.MustCompile(`No such tool available: (mcp__\w+)`)

// connectedSince reports whether every call of m was refused for a tool that is offered now. 2.1.197
// refuses a call so if the MCP server connects between the request and its reply: the server is no
// longer connecting, but the turn does not know its tools yet.
func (r *messagesRequest) connectedSince(m message) bool {
	return m.refused(func(reason string) bool {
		found := unknownTool.FindStringSubmatch(reason)
		return found != nil && !strings.Contains(reason, connecting) && r.offers(found[1])
	})
}

// refused reports whether m contains results of calls, each of which is an error with a text that
// matches.
func (m message) refused(matches func(reason string) bool) bool {
	refused := false
	for _, b := range m.Content {
		if b.Type != "tool_result" {
			continue
		}
		if !b.IsError || !matches(b.Content.text()) {
			return false
		}
		refused = true
	}
	return refused
}

const (
	interrupted = "[Request interrupted by user]"
	// noResponse is the assistant message that the CLI inserts for a lost turn.
	noResponse = "No response requested."
)

// midTurn matches the text in which the CLI forwards a message that a person sent during a turn.
var midTurn = regexp.MustCompile(`(?s)^(?:<system-reminder>\s*)?The user sent a new message while you were working:\n(.*?)\n\n(?:IMPORTANT: After completing|This is how Claude Code)`)

// ToolResult is the result of a tool, as sent to the model.
type ToolResult struct {
	ToolUseID string `json:"tool_use_id"`
	Text      string `json:"text"`
	IsError   bool   `json:"is_error"`
	Bytes     int    `json:"bytes"` // length of Text before the record truncated it
}

// toolResults returns the results after the last assistant message.
func (r *messagesRequest) toolResults() []ToolResult {
	var out []ToolResult
	for i := r.lastAssistant() + 1; i < len(r.Messages); i++ {
		for _, b := range r.Messages[i].Content {
			if b.Type == "tool_result" {
				text := b.Content.text()
				out = append(out, ToolResult{ToolUseID: b.ToolUseID, Text: text, IsError: b.IsError, Bytes: len(text)})
			}
		}
	}
	return out
}

func (r *messagesRequest) lastAssistant() int {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "assistant" {
			return i
		}
	}
	return -1
}

// reminder matches the remarks that the CLI adds to a person's message, as blocks or inside blocks.
var reminder = regexp.MustCompile(`(?s)<(system-reminder|command-[a-z]+|local-command-[a-z]+)>.*?</(?:system-reminder|command-[a-z]+|local-command-[a-z]+)>`)

// lastUserText returns the last text that a person typed, without the CLI's remarks.
func (r *messagesRequest) lastUserText() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := r.Messages[i]
		if m.Role == "assistant" {
			continue
		}
		for j := len(m.Content) - 1; j >= 0; j-- {
			b := m.Content[j]
			if b.Type != "text" || strings.HasPrefix(b.Text, "[Request interrupted by user") {
				continue
			}
			if typed := midTurn.FindStringSubmatch(b.Text); typed != nil {
				return strings.TrimSpace(typed[1])
			}
			if m.Role != "user" {
				continue
			}
			if t := strings.TrimSpace(reminder.ReplaceAllString(b.Text, "")); t != "" {
				return t
			}
		}
	}
	return ""
}

var (
	workingDir = regexp.MustCompile(`(?m)[Ww]orking directory:\s*(/[^\n"<]*)`)
	planFile   = regexp.MustCompile("/[^\\s`'\"]*/plans/[^\\s`'\"]+\\.md")
)

// allText returns all texts of the request that the CLI or a person wrote.
func (r *messagesRequest) allText() string {
	var b strings.Builder
	var system content
	if len(r.System) > 0 && system.UnmarshalJSON(r.System) == nil {
		b.WriteString(system.text())
	}
	for _, m := range r.Messages {
		for _, c := range m.Content {
			b.WriteByte('\n')
			b.WriteString(c.Text)
			for _, inner := range c.Content {
				b.WriteByte('\n')
				b.WriteString(inner.Text)
			}
		}
	}
	return b.String()
}

// expander replaces the {{…}} placeholders of a script from the conversation.
type expander struct {
	req *messagesRequest
}

// answered matches the answers to AskUserQuestion, as the CLI sends them to the model.
var answered = regexp.MustCompile(`"([^"]+)"="([^"]*)"`)

var placeholder = regexp.MustCompile(`\{\{(last_tool_result|tool_results|answers|last_user_text|cwd|plan_file|attached|fill:[0-9]{1,8})\}\}`)

// fillLine is repeated for {{fill:N}}, which expands to N bytes of text in lines of 64 bytes.
const fillLine = "sayso fills this line so that something large can be looked at.\n"

func (e expander) value(name string) string {
	if size, ok := strings.CutPrefix(name, "fill:"); ok {
		n, _ := strconv.Atoi(size) // digits only
		return strings.Repeat(fillLine, n/len(fillLine)+1)[:n]
	}
	switch name {
	case "last_tool_result":
		if all := e.req.toolResults(); len(all) > 0 {
			return all[len(all)-1].Text
		}
	case "tool_results":
		var texts []string
		for _, t := range e.req.toolResults() {
			texts = append(texts, t.Text)
		}
		return strings.Join(texts, "\n")
	case "answers":
		var lines []string
		for _, t := range e.req.toolResults() {
			for _, m := range answered.FindAllStringSubmatch(t.Text, -1) {
				lines = append(lines, "- "+m[1]+" **"+m[2]+"**")
			}
		}
		return strings.Join(lines, "\n")
	case "attached":
		var all []string
		for _, m := range e.req.Messages {
			for _, b := range m.Content {
				if a := b.attached(); a != "" {
					all = append(all, a)
				}
			}
		}
		return strings.Join(all, "; ")
	case "last_user_text":
		return e.req.lastUserText()
	case "cwd":
		if m := workingDir.FindStringSubmatch(e.req.allText()); m != nil {
			return strings.TrimSpace(m[1])
		}
	case "plan_file":
		if all := planFile.FindAllString(e.req.allText(), -1); len(all) > 0 {
			return all[len(all)-1]
		}
	}
	return ""
}

func (e expander) text(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(m string) string { return e.value(m[2 : len(m)-2]) })
}

// json expands inside the strings of a JSON text and escapes the values.
func (e expander) json(raw json.RawMessage) json.RawMessage {
	return placeholder.ReplaceAllFunc(raw, func(m []byte) []byte {
		q, err := json.Marshal(e.value(string(m[2 : len(m)-2])))
		if err != nil {
			return m
		}
		return q[1 : len(q)-1]
	})
}
