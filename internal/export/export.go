// Package export writes the transcript of a session as one file: as Markdown, or as a
// self-contained HTML page without scripts. It writes while it reads, so its memory does
// not grow with the transcript, except for 16 bytes per item.
//
// Everything in a transcript is hostile text. Both formats separate what sayso states (who
// wrote, who decided) from what Claude and people wrote, so that no text can imitate a
// decision.
package export

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/sayso-dev/sayso/internal/ellipsis"
	"github.com/sayso-dev/sayso/session"
)

// Format is the format of an exported file.
type Format string

const (
	Markdown Format = "markdown"
	HTML     Format = "html"
)

// Options describes what is exported.
type Options struct {
	Session  session.Session
	Project  string // its name, "" in the default project
	Language string // of the labels: "de", anything else is English
	By       string // the person who exports it
	At       time.Time
	// Image returns the bytes of an attachment that is an image, or an error. HTML contains images of
	// up to MaxImage bytes each and MaxImages bytes in total. It may be nil.
	Image func(ctx context.Context, attachmentID string) ([]byte, error)
	// Page is called before each page is read; it may be nil.
	Page func()
}

// Bounds of the images in an HTML file, in bytes.
const (
	MaxImage  = 4 << 20
	MaxImages = 24 << 20
)

// format writes the parts of a file.
type format interface {
	begin(o *Options)
	heading(h heading)
	// text writes Markdown that Claude or a person wrote.
	text(text string)
	// code writes a text verbatim; label is "" for none. A long text is folded if the format can.
	code(label, text string)
	// line writes a sentence by sayso; bad marks an error.
	line(text string, bad bool)
	todos(list []session.Todo)
	attachment(ctx context.Context, a session.AttachmentInfo)
	end(items int)
}

// heading is the first line of an item.
type heading struct {
	kind  string // as in the transcript
	who   string
	what  string // a command, a path or another text by Claude; may be ""
	at    time.Time
	agent bool // of a subagent
}

// Write writes the transcript to w. When it returns an error, the file is incomplete.
func Write(ctx context.Context, w io.Writer, f Format, from Reader, o Options) error {
	out := bufio.NewWriterSize(w, 64<<10)
	words := wordsOf(o.Language)
	var to format
	switch f {
	case Markdown:
		to = &markdownFile{out: out, words: words}
	case HTML:
		to = &htmlFile{out: out, words: words, image: o.Image}
	default:
		return fmt.Errorf("export: unknown format %q", f)
	}
	to.begin(&o)
	items := 0
	err := inOrder(ctx, paged{from, o.Page}, o.Session.SessionID, func(it session.Item) error {
		items++
		return writeItem(ctx, to, words, it, o.Session.CWD)
	})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	to.end(items)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// paged calls before ahead of each page that it reads; before may be nil.
type paged struct {
	Reader
	before func()
}

func (p paged) Transcript(ctx context.Context, sessionID string, after int64, limit int) (session.Page, error) {
	if p.before != nil {
		p.before()
	}
	return p.Reader.Transcript(ctx, sessionID, after, limit)
}

// decode decodes the body of an item.
func decode[T any](it session.Item) (body T, err error) {
	if err = json.Unmarshal(it.Body, &body); err != nil {
		err = fmt.Errorf("item %s: %w", it.Key, err)
	}
	return body, err
}

func writeItem(ctx context.Context, to format, words *words, it session.Item, cwd string) error {
	head := heading{kind: string(it.Kind), who: words.claude, at: it.At, agent: it.AgentID != ""}
	switch it.Kind {
	case session.ItemUser:
		b, err := decode[session.UserBody](it)
		if err != nil {
			return err
		}
		head.who = b.By
		if head.who == "" {
			head.who = words.person
		}
		to.heading(head)
		to.text(b.Text)
		for _, a := range b.Attachments {
			to.attachment(ctx, a)
		}
	case session.ItemText, session.ItemThinking:
		b, err := decode[session.TextBody](it)
		if err != nil {
			return err
		}
		if it.Kind == session.ItemThinking {
			head.who = words.thinking
		}
		to.heading(head)
		to.text(b.Text)
	case session.ItemToolCall:
		b, err := decode[session.ToolCallBody](it)
		if err != nil {
			return err
		}
		writeCall(to, words, head, b, cwd)
	case session.ItemTodo:
		b, err := decode[session.TodoBody](it)
		if err != nil {
			return err
		}
		head.who = words.todo
		to.heading(head)
		writeEdit(to, words, b.InputEdit)
		to.todos(b.Todos)
	case session.ItemPlan:
		b, err := decode[session.PlanBody](it)
		if err != nil {
			return err
		}
		head.who = words.plan
		to.heading(head)
		writeEdit(to, words, b.InputEdit)
		to.text(b.Text)
	case session.ItemSubagent:
		b, err := decode[session.SubagentBody](it)
		if err != nil {
			return err
		}
		head.who, head.what = words.subagent, strings.TrimSpace(b.AgentType+" "+b.Description)
		to.heading(head)
		writeEdit(to, words, b.InputEdit)
		writeStatus(to, words, b.Status, b.NoResult)
		if b.Result != "" {
			to.text(b.Result)
		}
	case session.ItemNote:
		b, err := decode[session.NoteBody](it)
		if err != nil {
			return err
		}
		head.who = words.note
		to.heading(head)
		to.line(b.Text, b.Level != "info")
	case session.ItemResolved:
		b, err := decode[session.ResolvedBody](it)
		if err != nil {
			return err
		}
		writeDecision(to, words, head, b, cwd)
	case session.ItemResult:
		b, err := decode[session.ResultBody](it)
		if err != nil {
			return err
		}
		head.who = words.turnEnd
		to.heading(head)
		if b.IsError {
			text := b.Text
			if text == "" {
				text = b.Subtype
			}
			to.line(text, true)
		}
		cost := b.CostUSD
		if b.SpentUSD != nil {
			cost = *b.SpentUSD
		}
		to.line(fmt.Sprintf(words.turn, b.DurationMS/1000, b.InputTokens, b.OutputTokens, cost), false)
	}
	return nil
}

func writeCall(to format, words *words, head heading, b session.ToolCallBody, cwd string) {
	head.who, head.what = b.ToolName, subject(b.Input, cwd)
	to.heading(head)
	writeEdit(to, words, b.InputEdit)
	writeStatus(to, words, b.Status, b.NoResult)
	if b.Input == nil && b.InputBytes > 0 {
		to.line(fmt.Sprintf(words.tooLarge, b.InputBytes), false)
	} else if len(b.Input) > 0 {
		to.code(words.input, indented(b.Input))
	}
	if b.Result != "" {
		to.code(words.result, b.Result)
		if b.ResultBytes > len(b.Result) {
			to.line(fmt.Sprintf(words.truncated, b.ResultBytes), false)
		}
	}
}

func writeStatus(to format, words *words, status session.ToolStatus, noResult bool) {
	switch {
	case noResult:
		to.line(words.noResult, true)
	case status == session.ToolFailed:
		to.line(words.failed, true)
	case status == session.ToolRunning:
		to.line(words.running, false)
	}
}

func writeEdit(to format, words *words, e session.InputEdit) {
	if !e.Edited {
		return
	}
	if e.EditedBy == "" {
		to.line(words.edited, false)
	} else {
		to.line(fmt.Sprintf(words.editedBy, e.EditedBy), false)
	}
	if len(e.ProposedInput) > 0 {
		to.code(words.proposed, indented(e.ProposedInput))
	}
}

func writeDecision(to format, words *words, head heading, b session.ResolvedBody, cwd string) {
	outcome := b.Outcome
	if outcome == "answered" && b.RequestType == "tool_approval" {
		outcome = "approved"
	}
	head.who = words.outcomes[outcome]
	if head.who == "" {
		head.who = b.Outcome
	}
	if b.By != "" {
		head.who = fmt.Sprintf(words.by, head.who, b.By)
		if b.Device != "" {
			head.who += " (" + b.Device + ")"
		}
	}
	head.what = strings.TrimSpace(b.ToolName + " " + subject(b.ToolInput, cwd))
	to.heading(head)
	if b.Carried {
		to.line(words.carried, false)
	}
	if b.Summary != "" {
		to.line(b.Summary, false)
	}
	if b.Message != "" && !strings.Contains(b.Summary, b.Message) {
		to.text(b.Message)
	}
	if b.Waited >= 1 {
		to.line(fmt.Sprintf(words.waited, elapsed(b.Waited)), false)
	}
	if b.Edited && len(b.ProposedInput) > 0 {
		to.line(words.editedHere, false)
		to.code(words.proposed, indented(b.ProposedInput))
	}
}

// subject returns the part of an input by which people recognize a call: its command, path or
// address.
func subject(input json.RawMessage, cwd string) string {
	var fields map[string]any
	if json.Unmarshal(input, &fields) != nil {
		return ""
	}
	for _, name := range []string{"command", "file_path", "notebook_path", "path", "url", "pattern", "query", "skill"} {
		text, ok := fields[name].(string)
		if !ok || text == "" {
			continue
		}
		return strings.TrimPrefix(text, strings.TrimSuffix(cwd, "/")+"/")
	}
	return ""
}

func indented(input json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, input, "", "  ") != nil {
		return string(input)
	}
	return unescaped.Replace(b.String())
}

// unescaped restores the characters that encoding/json escapes for HTML. It leaves escaped
// backslashes and the text after them alone.
var unescaped = strings.NewReplacer(`\\`, `\\`, `\u0026`, "&", `\u003c`, "<", `\u003e`, ">")

// oneLine returns at most limit characters of a text, with hidden characters marked, on one line.
func oneLine(text string, limit int) string {
	return ellipsis.Runes(strings.Join(strings.Fields(visible(text)), " "), limit)
}

// visible replaces characters that are invisible, or that reorder others, with their code points in
// brackets. Tabs and newlines stay.
func visible(text string) string {
	if strings.IndexFunc(text, isHidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isHidden(r) {
			fmt.Fprintf(&b, "[U+%04X]", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isHidden(r rune) bool {
	if r >= ' ' && r < 0x7f || r == '\n' || r == '\t' {
		return false
	}
	// Joiners of emoji and of some scripts, and direction marks, are part of ordinary text.
	if r >= 0x200c && r <= 0x200f || r == 0x061c || r >= 0xfe00 && r <= 0xfe0f {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
}

// withoutEscapes returns the output of a program without terminal control sequences.
func withoutEscapes(text string) string {
	if !strings.Contains(text, "\x1b[") {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		end := strings.IndexFunc(after, func(r rune) bool { return !strings.ContainsRune("0123456789;?", r) })
		if end < 0 || after[end] < '@' || after[end] > '~' {
			b.WriteString("\x1b[")
			text = after
			continue
		}
		text = after[end+1:]
	}
}

// Extension returns the file name extension, with its dot.
func (f Format) Extension() string {
	if f == HTML {
		return ".html"
	}
	return ".md"
}
