package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unsafe"

	"golang.org/x/text/width"

	"github.com/sayso-dev/sayso/internal/ellipsis"
	"github.com/sayso-dev/sayso/internal/visible"
)

// screen is where a command prints: a terminal, or a file or pipe.
type screen struct {
	w     io.Writer
	width int // of the terminal in columns, 0 for anything else
	color bool
}

// newScreen returns the screen for w. COLUMNS overrides the width of a terminal; NO_COLOR disables
// colors.
func newScreen(w io.Writer, getenv func(string) string) *screen {
	s := &screen{w: w}
	f, ok := w.(*os.File)
	if !ok {
		return s
	}
	var size struct{ rows, columns, x, y uint16 }
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
		return s
	}
	s.width = int(size.columns)
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		s.width = n
	}
	if s.width < 20 {
		s.width = 80 // a terminal that does not know its size
	}
	s.color = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return s
}

// styles are parameters of the escape sequence for colors.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	yellow = "33"
)

// styled returns a text in a style. Text that is not ours must come from package visible.
func (s *screen) styled(style, text string) string {
	if !s.color || style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (s *screen) printf(format string, args ...any) { fmt.Fprintf(s.w, format, args...) }

// columnsOf returns how many columns a terminal needs for a text on one line.
func columnsOf(text string) (n int) {
	for _, r := range text {
		n += columnsOfRune(r)
	}
	return n
}

func columnsOfRune(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r == '\t':
		return 8
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit truncates a text to a number of columns.
func fit(text string, columns int) string {
	for columnsOf(text) > columns {
		runes := len([]rune(text))
		text = ellipsis.Runes(text, max(runes-1-(columnsOf(text)-columns)/2, 1))
		if runes <= 1 {
			break
		}
	}
	return text
}

// quoted prints a text that is not ours. It puts a bar before each line, including each part of a
// wrapped one, so that the text cannot pass for output of sayso.
func (s *screen) quoted(text string) {
	for line := range strings.Lines(text) {
		for _, part := range s.wrap(strings.TrimSuffix(line, "\n"), s.width-4) {
			s.printf("%s %s\n", s.styled(dim, "  │"), part)
		}
	}
}

// wrap splits a line into parts of at most the given number of columns. Outside of a terminal it
// returns the line as it is.
func (s *screen) wrap(line string, columns int) (parts []string) {
	if s.width == 0 {
		return []string{line}
	}
	line = strings.ReplaceAll(line, "\t", "        ")
	from, used := 0, 0
	for at, r := range line {
		if n := columnsOfRune(r); used+n > columns && used > 0 {
			parts = append(parts, line[from:at])
			from, used = at, n
		} else {
			used += n
		}
	}
	return append(parts, line[from:])
}

// table prints rows below titles. In a terminal that is too narrow, it truncates the column wide, then
// the last one. Text in cells that is not ours must come from package visible.
func (s *screen) table(titles []string, rows [][]string, wide int, style func(row, column int) string) {
	widths := make([]int, len(titles))
	for _, row := range append([][]string{titles}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], columnsOf(cell))
		}
	}
	total := 2 * (len(titles) - 1)
	for _, w := range widths {
		total += w
	}
	for _, i := range []int{wide, len(titles) - 1} {
		if over := total - s.width; s.width > 0 && over > 0 {
			narrow := max(widths[i]-over, min(widths[i], 8))
			total -= widths[i] - narrow
			widths[i] = narrow
		}
	}
	printRow := func(row []string, styleOf func(column int) string) {
		var b strings.Builder
		for i, cell := range row {
			cell = fit(cell, widths[i])
			b.WriteString(s.styled(styleOf(i), cell))
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-columnsOf(cell)+2))
			}
		}
		s.printf("%s\n", strings.TrimRight(b.String(), " "))
	}
	printRow(titles, func(int) string { return bold })
	for n, row := range rows {
		printRow(row, func(i int) string {
			if style == nil {
				return ""
			}
			return style(n, i)
		})
	}
}

// printJSON prints a value as indented JSON, with escapes for all characters that a terminal would
// interpret or hide.
func printJSON(w io.Writer, value any) error {
	encoded, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(visible.JSON(encoded), '\n'))
	return err
}

// ago returns how long ago a time on the wire was, "" for 0.
func ago(at float64, now time.Time) string {
	if at == 0 {
		return ""
	}
	return roughly(now.Sub(time.UnixMicro(int64(at*1e6)))) + " ago"
}

// roughly returns a duration in its largest unit.
func roughly(d time.Duration) string {
	switch {
	case d < time.Second:
		return "0 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// count returns a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// megabytes returns a size in MB.
func megabytes(bytes uint64) string { return strconv.FormatUint(bytes/1e6, 10) + " MB" }
