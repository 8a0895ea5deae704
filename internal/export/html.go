package export

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	gtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/sayso-dev/sayso/session"
)

//go:embed page.css
var style string

// policy returns the Content Security Policy of the page. It allows only the page's own style and
// the images inside it, so the page loads, runs and sends nothing, whatever a text in it contains.
func policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// htmlFile writes one HTML page.
type htmlFile struct {
	out    *bufio.Writer
	words  *words
	image  func(ctx context.Context, attachmentID string) ([]byte, error)
	images int // bytes of images so far
	open   bool
}

func (f *htmlFile) begin(o *Options) {
	title := oneLine(o.Session.Title, 200)
	if title == "" {
		title = f.words.untitled
	}
	fmt.Fprintf(f.out, `<!doctype html>
<html lang="%s">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<style>%s</style>
</head>
<body>
<main>
<header>
<h1 dir="auto">%[3]s</h1>
<dl>
`, f.words.language, policy(), html.EscapeString(title), style)
	for _, row := range facts(f.words, o) {
		fmt.Fprintf(f.out, "<div><dt>%s</dt><dd dir=\"auto\">%s</dd></div>\n", row[0], html.EscapeString(row[1]))
	}
	fmt.Fprintf(f.out, "</dl>\n<p>%s</p>\n</header>\n", html.EscapeString(fmt.Sprintf(f.words.intro, oneLine(o.By, 200), o.At.UTC().Format(timeFormat))))
}

func (f *htmlFile) heading(h heading) {
	f.close()
	f.open = true
	agent := ""
	if h.agent {
		agent = " agent"
	}
	fmt.Fprintf(f.out, "<article class=\"%s%s\">\n<h2><span>%s</span>", h.kind, agent, html.EscapeString(oneLine(h.who, 200)))
	if h.what != "" {
		fmt.Fprintf(f.out, " <code dir=\"ltr\">%s</code>", html.EscapeString(oneLine(h.what, 200)))
	}
	fmt.Fprintf(f.out, " <time>%s</time></h2>\n", h.at.UTC().Format(timeFormat))
}

func (f *htmlFile) close() {
	if f.open {
		f.out.WriteString("</article>\n")
	}
	f.open = false
}

// maxFormatted bounds a text that is formatted, in bytes; a longer text is shown verbatim.
const maxFormatted = 64 << 10

func (f *htmlFile) text(text string) {
	text = visible(strings.ReplaceAll(text, "\r\n", "\n"))
	if strings.TrimSpace(text) == "" {
		return
	}
	var b bytes.Buffer
	if len(text) > maxFormatted || formatted.Convert([]byte(text), &b) != nil {
		fmt.Fprintf(f.out, "<div class=\"typed\" dir=\"auto\">%s</div>\n", html.EscapeString(text))
		return
	}
	f.out.WriteString("<div class=\"prose\">\n")
	_, _ = f.out.Write(b.Bytes()) // Flush returns the error
	f.out.WriteString("</div>\n")
}

// maxOpenLines is the number of lines above which code is folded.
const maxOpenLines = 12

func (f *htmlFile) code(label, text string) {
	text = visible(strings.TrimRight(withoutEscapes(text), "\n"))
	open := " open"
	if strings.Count(text, "\n") >= maxOpenLines {
		open = ""
	}
	fmt.Fprintf(f.out, "<details%s><summary>%s</summary><pre dir=\"ltr\">%s</pre></details>\n", open, html.EscapeString(label), html.EscapeString(text))
}

func (f *htmlFile) line(text string, bad bool) {
	class := "line"
	if bad {
		class = "line bad"
	}
	if text = oneLine(text, 2_000); text != "" {
		fmt.Fprintf(f.out, "<p class=\"%s\" dir=\"auto\">%s</p>\n", class, html.EscapeString(text))
	}
}

func (f *htmlFile) todos(list []session.Todo) {
	f.out.WriteString("<ul class=\"todos\">\n")
	for _, todo := range list {
		box := "☐"
		if todo.Status == "completed" {
			box = "☑"
		}
		fmt.Fprintf(f.out, "<li dir=\"auto\">%s %s</li>\n", box, html.EscapeString(oneLine(todo.Content, 1_000)))
	}
	f.out.WriteString("</ul>\n")
}

// imageTypes are the types of images that a page may contain: only formats of pixels, which cannot
// contain scripts or links.
var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

func (f *htmlFile) attachment(ctx context.Context, a session.AttachmentInfo) {
	name := fmt.Sprintf(f.words.attached, oneLine(a.Name, 200), a.Size)
	if imageTypes[a.MediaType] && a.AttachmentID != "" && f.image != nil && a.Size <= MaxImage && f.images+a.Size <= MaxImages {
		if data, err := f.image(ctx, a.AttachmentID); err == nil && len(data) <= MaxImage && f.images+len(data) <= MaxImages {
			f.images += len(data)
			fmt.Fprintf(f.out, "<figure><img alt=\"%s\" src=\"data:%s;base64,", html.EscapeString(oneLine(a.Name, 200)), a.MediaType)
			encoder := base64.NewEncoder(base64.StdEncoding, f.out)
			_, _ = encoder.Write(data) // Flush returns the error
			_ = encoder.Close()
			fmt.Fprintf(f.out, "\"><figcaption>%s</figcaption></figure>\n", html.EscapeString(name))
			return
		}
	}
	f.line(name+", "+f.words.notIncluded, false)
}

func (f *htmlFile) end(items int) {
	f.close()
	fmt.Fprintf(f.out, "<footer>%s</footer>\n</main>\n</body>\n</html>\n", fmt.Sprintf(f.words.complete, items))
}

// formatted renders Markdown as the web app does: raw HTML is text, images are links, and links
// lead only to the web or to a mail address.
var formatted = goldmark.New(
	goldmark.WithExtensions(extension.Linkify, extension.Strikethrough, extension.TaskList,
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(inert{}, 100))),
)

// inert renders nodes that goldmark would omit, or that would load something.
type inert struct{}

func (inert) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			writeLines(w, source, n.(*ast.RawHTML).Segments.Sliced(0, n.(*ast.RawHTML).Segments.Len()))
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			block := n.(*ast.HTMLBlock)
			_, _ = w.WriteString("<p class=\"typed\">")
			writeLines(w, source, block.Lines().Sliced(0, block.Lines().Len()))
			if block.HasClosure() {
				_, _ = w.WriteString(html.EscapeString(string(block.ClosureLine.Value(source))))
			}
			_, _ = w.WriteString("</p>\n")
		}
		return ast.WalkSkipChildren, nil
	})
	// The first two levels are reserved for sayso's own headings.
	r.Register(ast.KindHeading, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		end := map[bool]string{true: "", false: "/"}[entering]
		_, _ = fmt.Fprintf(w, "<%sh%d>", end, min(n.(*ast.Heading).Level+2, 6))
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindLink, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		return writeLink(w, string(n.(*ast.Link).Destination), entering)
	})
	r.Register(ast.KindImage, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		return writeLink(w, string(n.(*ast.Image).Destination), entering)
	})
	r.Register(ast.KindAutoLink, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			link := n.(*ast.AutoLink)
			address := string(link.URL(source))
			if link.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
				address = "mailto:" + address
			}
			_, _ = writeLink(w, address, true)
			_, _ = w.WriteString(html.EscapeString(string(link.Label(source))))
			_, _ = writeLink(w, address, false)
		}
		return ast.WalkContinue, nil
	})
}

func writeLines(w util.BufWriter, source []byte, lines []gtext.Segment) {
	for _, line := range lines {
		_, _ = w.WriteString(html.EscapeString(string(line.Value(source))))
	}
}

func writeLink(w util.BufWriter, address string, entering bool) (ast.WalkStatus, error) {
	target, err := url.Parse(address)
	leads := err == nil && (target.Scheme == "http" || target.Scheme == "https") && target.Host != "" || err == nil && target.Scheme == "mailto"
	switch {
	case !leads:
	case entering:
		_, _ = fmt.Fprintf(w, `<a href="%s" title="%[1]s" rel="noopener noreferrer">`, html.EscapeString(target.String()))
	default:
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}
