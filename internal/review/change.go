package review

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// FileOnDisk is the current state of a file.
type FileOnDisk struct {
	State   string // of package workspace: read, missing, outside, other, large, denied
	Data    []byte // with state read
	Size    int64
	ModTime time.Time
	// TouchedAt is when Claude last read or wrote the file, zero when unknown.
	TouchedAt time.Time
}

// ChangeState describes what a tool would do to a file.
type ChangeState string

const (
	NewFile     ChangeState = "new"
	Changes     ChangeState = "changes"
	Unchanged   ChangeState = "same"    // the result equals the file
	NoFile      ChangeState = "no_file" // the file to edit does not exist
	NotShown    ChangeState = "outside" // not in a folder that people may see
	NotAFile    ChangeState = "other"   // a folder, a device, a pipe
	TooLarge    ChangeState = "large"
	NotReadable ChangeState = "denied"
	Binary      ChangeState = "binary" // not UTF-8 text
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

// Failing is one edit that would fail, by its index.
type Failing struct {
	Edit    int
	Problem EditProblem
	Found   int // occurrences of the text
}

// LineEnds is the kind of line endings in a text.
type LineEnds string

const (
	NoEnds    LineEnds = "" // one line without a line ending
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

// Change is what a tool would do to the current file.
type Change struct {
	State   ChangeState
	Failing []Failing
	// Drifted reports that the file was changed after Claude last read or wrote it.
	Drifted bool
	// Before and After are the lines that differ, with three lines of context; Line is the
	// number of the first, from 1. Their line endings are LF.
	Line          int
	Before, After string
	// EndsBefore and EndsAfter are the line endings of the file; both are [NoEnds] when there
	// is nothing but LF.
	EndsBefore, EndsAfter LineEnds
	// NoNewlineBefore and NoNewlineAfter report that the last line has no line ending.
	NoNewlineBefore, NoNewlineAfter bool
}

// fileInput is the input of the tools that write files.
type fileInput struct {
	Content    *string
	OldString  *string
	NewString  *string
	ReplaceAll bool
	Edits      []textEdit
	CellID     string
	NewSource  string
	EditMode   string
}

// textEdit is one edit of MultiEdit.
type textEdit struct {
	OldString  string
	NewString  string
	ReplaceAll bool
}

// UnmarshalJSON reads the fields by their exact names. The names in tags of a struct match in
// any case, so that Content would replace the content that the CLI writes.
func (in *fileInput) UnmarshalJSON(data []byte) error {
	var fields toolFields
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	return errors.Join(fields.decode("content", &in.Content), fields.decode("old_string", &in.OldString), fields.decode("new_string", &in.NewString), fields.decode("replace_all", &in.ReplaceAll),
		fields.decode("edits", &in.Edits), fields.decode("cell_id", &in.CellID), fields.decode("new_source", &in.NewSource), fields.decode("edit_mode", &in.EditMode))
}

// UnmarshalJSON reads the fields by their exact names.
func (e *textEdit) UnmarshalJSON(data []byte) error {
	var fields toolFields
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	return errors.Join(fields.decode("old_string", &e.OldString), fields.decode("new_string", &e.NewString), fields.decode("replace_all", &e.ReplaceAll))
}

// FilePath returns the file that a tool would write, "" for other tools.
func FilePath(tool string, input json.RawMessage) string {
	in, _ := fieldsOf(input) // without fields, there is no path
	file := ""
	switch tool {
	case "Write", "Edit", "MultiEdit":
		file, _ = in.text("file_path")
	case "NotebookEdit":
		file, _ = in.text("notebook_path")
	}
	return file
}

// ReadChange returns what Write, Edit, MultiEdit or NotebookEdit would do to a file.
func ReadChange(tool string, input json.RawMessage, disk FileOnDisk) Change {
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
	is := was // with its original line endings
	switch {
	case tool == "NotebookEdit":
		return c.editCell(in, before, exists)
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
				edits = append(edits, textEdit{*in.OldString, *in.NewString, in.ReplaceAll})
			}
		}
		if !exists && (len(edits) == 0 || edits[0].OldString != "") {
			return Change{State: NoFile}
		}
		for i, e := range edits {
			after = c.applyEdit(i, after, e.OldString, e.NewString, e.ReplaceAll)
		}
		if len(c.Failing) == 0 { // otherwise the CLI writes nothing
			is = restoreLineEnds(was, after)
		}
		after = asLF(after)
	}
	c.setDiff(before, after, exists)
	c.setLineEnds(lineEndsOf(was), lineEndsOf(is))
	return c
}

// maxLineEndScan is how many bytes the CLI reads to detect a file's line endings.
const maxLineEndScan = 4096

// restoreLineEnds returns an edited text as the CLI writes it: with CRLF throughout if most
// lines at the beginning of the file end with it, else unchanged, even where endings were
// mixed.
func restoreLineEnds(was, text string) string {
	head := was[:min(len(was), maxLineEndScan)]
	both := strings.Count(head, "\r\n")
	if both <= strings.Count(head, "\n")-both {
		return text
	}
	return strings.ReplaceAll(asLF(text), "\n", "\r\n")
}

// setLineEnds sets the line endings. A file that differs only in them counts as changed.
func (c *Change) setLineEnds(before, after LineEnds) {
	plain := func(e LineEnds) bool { return e == NoEnds || e == LF }
	if plain(before) && plain(after) {
		return
	}
	c.EndsBefore, c.EndsAfter = before, after
	if c.State == Unchanged && before != after {
		c.State = Changes
	}
}

// applyEdit applies one edit as the CLI does.
func (c *Change) applyEdit(i int, text, old, by string, all bool) string {
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
		// The text may grow with each replacement; it is bounded by what can be displayed.
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

// maxShownFile bounds a text that is compared, in bytes.
const maxShownFile = 2 << 20

// contextLines is how many lines of context surround the difference.
const contextLines = 3

// setDiff keeps the lines of two texts from the first difference to the last.
func (c *Change) setDiff(before, after string, exists bool) {
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
	from := max(head-contextLines, 0)
	keep := max(tail-contextLines, 0)
	c.Line = from + 1
	c.Before = strings.Join(a[from:len(a)-keep], "")
	c.After = strings.Join(b[from:len(b)-keep], "")
}

// editCell applies an edit of one notebook cell.
func (c Change) editCell(in fileInput, text string, exists bool) Change {
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
			_ = json.Unmarshal(cell.Source, &before) // a source of another type is shown as empty
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
