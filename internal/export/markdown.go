package export

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/session"
)

// markdownFile writes Markdown. All headings and bold sentences outside of quotes are sayso's: text
// by Claude, people and programs is quoted or fenced.
type markdownFile struct {
	out   *bufio.Writer
	words *words
}

const timeFormat = "2006-01-02 15:04 UTC"

func (f *markdownFile) begin(o *Options) {
	title := oneLine(o.Session.Title, 200)
	if title == "" {
		title = f.words.untitled
	}
	fmt.Fprintf(f.out, "# %s\n\n", escapeMarkdown(title))
	for _, row := range facts(f.words, o) {
		fmt.Fprintf(f.out, "- %s: %s\n", row[0], codeSpan(row[1]))
	}
	fmt.Fprintf(f.out, "\n%s\n", escapeMarkdown(fmt.Sprintf(f.words.intro, oneLine(o.By, 200), o.At.UTC().Format(timeFormat))))
}

// facts returns the labels and values at the beginning of a file.
func facts(words *words, o *Options) [][2]string {
	all := [][2]string{
		{words.session, o.Session.SessionID}, {words.project, o.Project}, {words.folder, o.Session.CWD}, {words.model, o.Session.Model},
		{words.created, o.Session.CreatedAt.UTC().Format(timeFormat)},
	}
	rows := all[:0]
	for _, row := range all {
		if row[1] != "" {
			rows = append(rows, [2]string{row[0], oneLine(row[1], 500)})
		}
	}
	return rows
}

func (f *markdownFile) heading(h heading) {
	level := "##"
	if h.agent {
		level = "###"
	}
	fmt.Fprintf(f.out, "\n%s %s", level, escapeMarkdown(oneLine(h.who, 200)))
	if h.what != "" {
		fmt.Fprintf(f.out, " %s", codeSpan(oneLine(h.what, 200)))
	}
	fmt.Fprintf(f.out, " · %s\n", h.at.UTC().Format(timeFormat))
}

func (f *markdownFile) text(text string) {
	if text == "" {
		return
	}
	f.out.WriteByte('\n')
	for line := range strings.SplitSeq(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n") {
		// A carriage return also ends a line in Markdown.
		for part := range strings.SplitSeq(line, "\r") {
			f.out.WriteString("> ")
			f.out.WriteString(part)
			f.out.WriteByte('\n')
		}
	}
}

func (f *markdownFile) code(label, text string) {
	if label != "" {
		fmt.Fprintf(f.out, "\n**%s**\n", label)
	}
	text = strings.ReplaceAll(strings.ReplaceAll(withoutEscapes(text), "\r\n", "\n"), "\r", "\n")
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(f.out, "\n%s\n%s\n%s\n", fence, strings.TrimRight(text, "\n"), fence)
}

func (f *markdownFile) line(text string, bad bool) {
	mark := "*"
	if bad {
		mark = "**"
	}
	if text = oneLine(text, 2_000); text != "" {
		fmt.Fprintf(f.out, "\n%s%s%s\n", mark, escapeMarkdown(text), mark)
	}
}

func (f *markdownFile) todos(list []session.Todo) {
	f.out.WriteByte('\n')
	for _, todo := range list {
		box := " "
		if todo.Status == "completed" {
			box = "x"
		}
		fmt.Fprintf(f.out, "- [%s] %s\n", box, escapeMarkdown(oneLine(todo.Content, 1_000)))
	}
}

func (f *markdownFile) attachment(_ context.Context, a session.AttachmentInfo) {
	f.line(fmt.Sprintf(f.words.attached, a.Name, a.Size), false)
}

func (f *markdownFile) end(items int) {
	fmt.Fprintf(f.out, "\n---\n\n%s\n", fmt.Sprintf(f.words.complete, items))
}

// escapeMarkdown escapes the characters of a line that have a meaning in Markdown.
func escapeMarkdown(line string) string {
	var b strings.Builder
	for i, r := range line {
		if strings.ContainsRune("\\`*_{}[]<>#|~&$!", r) || i == 0 && strings.ContainsRune("-+=", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// codeSpan returns a line as a Markdown code span.
func codeSpan(line string) string {
	ticks := "`"
	for strings.Contains(line, ticks) {
		ticks += "`"
	}
	if strings.HasPrefix(line, "`") || strings.HasSuffix(line, "`") {
		line = " " + line + " "
	}
	return ticks + line + ticks
}

// elapsed returns a number of seconds as people read it.
func elapsed(seconds float64) string {
	return (time.Duration(seconds) * time.Second).String()
}
