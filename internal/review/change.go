package review

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// OnDisk is a file as it is now.
type OnDisk struct {
	State   string // of package workspace: read, missing, outside, other, large, denied
	Data    []byte // with state read
	Size    int64
	ModTime time.Time
	// TouchedAt is when Claude last read or wrote it, zero when it was not seen to.
	TouchedAt time.Time
}

// ChangeState says what a tool would do to a file.
type ChangeState string

const (
	NewFile     ChangeState = "new"
	Changes     ChangeState = "changes"
	Unchanged   ChangeState = "same"    // nothing would be different
	NoFile      ChangeState = "no_file" // there is nothing to change
	NotShown    ChangeState = "outside" // not in a folder that may be shown
	NotAFile    ChangeState = "other"   // a folder, a device, a pipe
	TooLarge    ChangeState = "large"
	NotReadable ChangeState = "denied"
	Binary      ChangeState = "binary" // no text in UTF-8
)

// EditProblem is why one of the edits would fail.
type EditProblem string

const (
	TextNotFound EditProblem = "not_found"
	FoundMany    EditProblem = "many"
	SameText     EditProblem = "same"
	EmptyText    EditProblem = "empty"
	CellNotFound EditProblem = "no_cell"
)

// Failing is one edit that would fail, by its place in the list.
type Failing struct {
	Edit    int
	Problem EditProblem
	Found   int // how often the text is there
}

// LineEnds says how the lines of a text end.
type LineEnds string

const (
	NoEnds    LineEnds = "" // there is one line, without an end
	LF        LineEnds = "lf"
	CRLF      LineEnds = "crlf"
	MixedEnds LineEnds = "mixed"
)

func lineEndsOf(text string) LineEnds {
	both := strings.Count(text, "\r\n")
	switch alone := strings.Count(text, "\n") - both; {
	case both == 0 && alone == 0:
		return NoEnds
	case both == 0:
		return LF
	case alone == 0:
		return CRLF
	}
	return MixedEnds
}

func asLF(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// Change is what a tool would do to a file as it is.
type Change struct {
	State   ChangeState
	Failing []Failing
	// Drifted: the file was changed after Claude last read or wrote it.
	Drifted bool
	// Before and After are the lines that differ, with three around them; Line is
	// the number of the first, from 1. They are LF alone.
	Line          int
	Before, After string
	// EndsBefore and EndsAfter are how the lines of the file end; both are [NoEnds]
	// when there is nothing but LF.
	EndsBefore, EndsAfter LineEnds
	// NoNewline: the last line before and after has no end.
	NoNewlineBefore, NoNewlineAfter bool
}

// fileInput is what the tools that write files take.
type fileInput struct {
	FilePath     string  `json:"file_path"`
	NotebookPath string  `json:"notebook_path"`
	Content      *string `json:"content"`
	OldString    *string `json:"old_string"`
	NewString    *string `json:"new_string"`
	ReplaceAll   bool    `json:"replace_all"`
	Edits        []struct {
		OldString  string `json:"old_string"`
		NewString  string `json:"new_string"`
		ReplaceAll bool   `json:"replace_all"`
	} `json:"edits"`
	CellID    string `json:"cell_id"`
	NewSource string `json:"new_source"`
	EditMode  string `json:"edit_mode"`
}

// FilePath is the file that a tool is to write, "" when it is none of those that do.
func FilePath(tool string, input json.RawMessage) string {
	var in fileInput
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	switch tool {
	case "Write", "Edit", "MultiEdit":
		return in.FilePath
	case "NotebookEdit":
		return in.NotebookPath
	}
	return ""
}

// ReadChange says what Write, Edit, MultiEdit or NotebookEdit would do to a file.
func ReadChange(tool string, input json.RawMessage, disk OnDisk) Change {
	var in fileInput
	if err := json.Unmarshal(input, &in); err != nil {
		return Change{State: NotShown}
	}
	var c Change
	before := ""
	exists := false
	switch disk.State {
	case "read":
		if !utf8.Valid(disk.Data) || strings.ContainsRune(string(disk.Data), 0) {
			return Change{State: Binary}
		}
		exists = true
		before = strings.TrimPrefix(string(disk.Data), "\ufeff")
		c.Drifted = !disk.TouchedAt.IsZero() && disk.ModTime.After(disk.TouchedAt)
	case "missing":
	case "large":
		return Change{State: TooLarge}
	case "other":
		return Change{State: NotAFile}
	case "denied":
		return Change{State: NotReadable}
	default:
		return Change{State: NotShown}
	}
	was := before
	before = asLF(was)
	after := before
	is := was // with the ends of its lines
	switch {
	case tool == "NotebookEdit":
		return c.notebook(in, before, exists)
	case tool == "Write":
		if in.Content != nil {
			is = *in.Content
			after = asLF(is)
		}
	default:
		edits := in.Edits
		if tool == "Edit" {
			edits = edits[:0]
			if in.OldString != nil && in.NewString != nil {
				edits = append(edits, struct {
					OldString  string `json:"old_string"`
					NewString  string `json:"new_string"`
					ReplaceAll bool   `json:"replace_all"`
				}{*in.OldString, *in.NewString, in.ReplaceAll})
			}
		}
		if !exists && (len(edits) == 0 || edits[0].OldString != "") {
			return Change{State: NoFile}
		}
		for i, e := range edits {
			after = c.apply(i, after, e.OldString, e.NewString, e.ReplaceAll)
		}
		if len(c.Failing) == 0 { // else the CLI writes nothing
			is = editedEnds(was, after)
		}
		after = asLF(after)
	}
	c.differ(before, after, exists)
	c.ends(lineEndsOf(was), lineEndsOf(is))
	return c
}

// mostEndsIn is how far, in bytes, the CLI looks for the line end of a file.
const mostEndsIn = 4096

// editedEnds is an edited text as the CLI writes it: with CR LF throughout when most
// lines at the beginning of the file end so, else as it is, whatever was mixed before.
func editedEnds(was, text string) string {
	head := was[:min(len(was), mostEndsIn)]
	both := strings.Count(head, "\r\n")
	if both <= strings.Count(head, "\n")-both {
		return text
	}
	return strings.ReplaceAll(asLF(text), "\n", "\r\n")
}

// ends takes in how lines end; a file in which nothing else differs does differ in that.
func (c *Change) ends(before, after LineEnds) {
	plain := func(e LineEnds) bool { return e == NoEnds || e == LF }
	if plain(before) && plain(after) {
		return
	}
	c.EndsBefore, c.EndsAfter = before, after
	if c.State == Unchanged && before != after {
		c.State = Changes
	}
}

// apply is one edit, as the CLI does it.
func (c *Change) apply(i int, text, old, by string, all bool) string {
	fail := func(p EditProblem, found int) string {
		c.Failing = append(c.Failing, Failing{Edit: i, Problem: p, Found: found})
		return text
	}
	switch {
	case old == by:
		return fail(SameText, 0)
	case old == "" && strings.TrimSpace(text) == "":
		return by
	case old == "":
		return fail(EmptyText, 0)
	}
	found := strings.Count(text, old)
	if found == 0 {
		// The model writes straight quotes where the file has typographic ones.
		at, ok := findStraight(text, old)
		if !ok {
			return fail(TextNotFound, 0)
		}
		old, found = at, strings.Count(text, at)
	}
	if found > 1 && !all {
		return fail(FoundMany, found)
	}
	if all {
		// Text that grows with each place is bounded by what is shown anyway.
		if len(text)+found*max(len(by)-len(old), 0) > maxShownFile {
			return fail(TextNotFound, found)
		}
		return strings.ReplaceAll(text, old, by)
	}
	return strings.Replace(text, old, by, 1)
}

var straight = strings.NewReplacer("‘", "'", "’", "'", "“", `"`, "”", `"`)

func findStraight(text, old string) (string, bool) {
	plainText, plainOld := []rune(straight.Replace(text)), []rune(straight.Replace(old))
	at := strings.Index(string(plainText), string(plainOld))
	if at < 0 {
		return "", false
	}
	from := utf8.RuneCountInString(string(plainText)[:at])
	runes := []rune(text)
	return string(runes[from : from+len(plainOld)]), true
}

// maxShownFile is the largest text that is compared, in bytes.
const maxShownFile = 2 << 20

// around is how many lines stand before and after what differs.
const around = 3

// differ keeps of two texts the lines from the first that differs to the last.
func (c *Change) differ(before, after string, exists bool) {
	c.NoNewlineBefore = exists && before != "" && !strings.HasSuffix(before, "\n")
	c.NoNewlineAfter = after != "" && !strings.HasSuffix(after, "\n")
	switch {
	case !exists:
		c.State, c.Line, c.After = NewFile, 1, after
		return
	case before == after:
		c.State = Unchanged
		return
	}
	c.State = Changes
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	from := max(head-around, 0)
	keep := max(tail-around, 0)
	c.Line = from + 1
	c.Before = strings.Join(a[from:len(a)-keep], "")
	c.After = strings.Join(b[from:len(b)-keep], "")
}

// notebook is an edit of one cell.
func (c Change) notebook(in fileInput, text string, exists bool) Change {
	if !exists {
		return Change{State: NoFile}
	}
	var book struct {
		Cells []struct {
			ID     string          `json:"id"`
			Source json.RawMessage `json:"source"`
		} `json:"cells"`
	}
	if json.Unmarshal([]byte(text), &book) != nil {
		return Change{State: Binary, Drifted: c.Drifted}
	}
	before, found := "", in.CellID == "" && in.EditMode == "insert"
	for i, cell := range book.Cells {
		if in.CellID == "" || cell.ID != in.CellID && in.CellID != fmt.Sprintf("cell-%d", i) {
			continue
		}
		found = true
		var lines []string
		if json.Unmarshal(cell.Source, &lines) == nil {
			before = strings.Join(lines, "")
		} else {
			_ = json.Unmarshal(cell.Source, &before) // a source of another shape is shown as empty
		}
		break
	}
	if !found {
		c.State, c.Failing = Changes, []Failing{{Problem: CellNotFound}}
		return c
	}
	c.State, c.Line = Changes, 1
	switch in.EditMode {
	case "insert":
		c.After = in.NewSource
	case "delete":
		c.Before = before
	default:
		c.Before, c.After = before, in.NewSource
		if c.Before == c.After {
			c.State = Unchanged
		}
	}
	return c
}
