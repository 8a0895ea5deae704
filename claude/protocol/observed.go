package protocol

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Observed contains what several versions of the CLI sent and did. It is stored in
// docs/protocol/observed.txt, one line per fact, which ends with the versions.
type Observed struct {
	versions map[string][]string // by fact
	order    []string            // of the facts about behavior
}

const (
	doesPrefix = "does: "
	outcomeSep = " => "
)

// ReadObserved reads a file. If the file does not exist, the result is empty.
func ReadObserved(file string) (*Observed, error) {
	o := &Observed{versions: map[string][]string{}}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if fact, versions, ok := strings.Cut(lines.Text(), "\t"); ok {
			o.add(fact, strings.Fields(versions)...)
		}
	}
	return o, lines.Err()
}

func (o *Observed) add(fact string, versions ...string) {
	if strings.HasPrefix(fact, doesPrefix) && o.versions[fact] == nil {
		o.order = append(o.order, fact)
	}
	o.versions[fact] = append(o.versions[fact], versions...)
	slices.SortFunc(o.versions[fact], CompareVersions)
}

// CompareVersions orders versions such as 2.1.197 by their numbers.
func CompareVersions(a, b string) int {
	number := func(s string) int {
		n, _ := strconv.Atoi(s) // text that is not a number comes first
		return n
	}
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(a, b string) int {
		return cmp.Compare(number(a), number(b))
	})
}

// Set replaces the facts about a version with those of a recording.
func (o *Observed) Set(version string, r *Recording, f *Facts) {
	for fact, versions := range o.versions {
		o.versions[fact] = slices.DeleteFunc(versions, func(v string) bool { return v == version })
	}
	for _, fact := range r.facts(f) {
		o.add(fact, version)
	}
}

// facts returns all facts of a recording: those about behavior in order, then those about lines, sorted.
func (r *Recording) facts(f *Facts) []string {
	var facts []string
	for _, b := range r.Does {
		facts = append(facts, doesPrefix+b.Situation+outcomeSep+b.Outcome)
	}
	for _, s := range f.Seen() {
		if strings.HasPrefix(s, string(FromCLI)+" ") {
			facts = append(facts, s)
		}
	}
	return facts
}

// Write writes the facts to a file, for [ReadObserved].
func (o *Observed) Write(file string) error {
	var b bytes.Buffer
	b.WriteString("# What the CLI did and what its lines contained in the recorded conversations, and in which versions. Written by: go run ./cmd/protocol record\n")
	var facts []string
	for fact, versions := range o.versions {
		if len(versions) > 0 && !strings.HasPrefix(fact, doesPrefix) {
			facts = append(facts, fact)
		}
	}
	slices.Sort(facts)
	for _, fact := range append(slices.Clone(o.order), facts...) {
		if len(o.versions[fact]) > 0 {
			fmt.Fprintf(&b, "%s\t%s\n", fact, strings.Join(o.versions[fact], " "))
		}
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// Versions returns the versions, oldest first.
func (o *Observed) Versions() []string {
	all := map[string]bool{}
	for _, versions := range o.versions {
		for _, v := range versions {
			all[v] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), CompareVersions)
}

// Diff returns how a recording differs from a version: a line for each fact that is new (+) or missing
// (-), those about behavior first. It compares shapes, not ids, texts or times.
func (o *Observed) Diff(version string, r *Recording, f *Facts) []string {
	now := map[string]bool{}
	var diff []string
	for _, fact := range r.facts(f) {
		now[fact] = true
		if !slices.Contains(o.versions[fact], version) {
			diff = append(diff, "+ "+fact)
		}
	}
	for _, fact := range slices.Sorted(maps.Keys(o.versions)) {
		if slices.Contains(o.versions[fact], version) && !now[fact] {
			diff = append(diff, "- "+fact)
		}
	}
	// Keep the two outcomes of one situation together.
	slices.SortStableFunc(diff, func(a, b string) int {
		if x, y := strings.HasPrefix(a[2:], doesPrefix), strings.HasPrefix(b[2:], doesPrefix); x != y {
			return choose(x, -1, 1)
		}
		return cmp.Or(strings.Compare(situation(a[2:]), situation(b[2:])), strings.Compare(b, a))
	})
	return diff
}

// situation returns the part of a fact that does not depend on the observation.
func situation(fact string) string {
	s, _, _ := strings.Cut(fact, outcomeSep)
	s, _, _ = strings.Cut(s, " = ")
	return s
}

// Table returns the differences between the versions as Markdown: what each does, which kinds of line
// it sent, and the fields of each kind that not all versions have.
func (o *Observed) Table() string {
	versions := o.Versions()
	var b strings.Builder
	row := func(cells ...string) {
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	header := func(first string) {
		row(append([]string{first}, versions...)...)
		row(append([]string{"---"}, slices.Repeat([]string{"---"}, len(versions))...)...)
	}

	b.WriteString("## What it does\n\n")
	header("Situation")
	outcomes := map[string]map[string]string{}
	var situations []string
	for _, fact := range o.order {
		s, outcome, _ := strings.Cut(strings.TrimPrefix(fact, doesPrefix), outcomeSep)
		if outcomes[s] == nil {
			outcomes[s] = map[string]string{}
			situations = append(situations, s)
		}
		for _, v := range o.versions[fact] {
			outcomes[s][v] = outcome
		}
	}
	for _, s := range situations {
		cells := []string{escapeCell(s)}
		for i, v := range versions {
			outcome := outcomes[s][v]
			if i > 0 && outcome == outcomes[s][versions[i-1]] {
				outcome = "same"
			}
			cells = append(cells, escapeCell(outcome))
		}
		row(cells...)
	}

	kinds, fields := map[string][]string{}, map[string][]string{}
	var kindNames []string
	for _, fact := range slices.Sorted(maps.Keys(o.versions)) {
		rest, ok := strings.CutPrefix(fact, string(FromCLI)+" ")
		if !ok || len(o.versions[fact]) == 0 {
			continue
		}
		kind, path, _ := strings.Cut(rest, " ")
		if kinds[kind] == nil && !strings.HasPrefix(kind, "control_response/") {
			kindNames = append(kindNames, kind)
		}
		kinds[kind] = union(kinds[kind], o.versions[fact])
		path, _, _ = strings.Cut(path, " = ")
		path, _, _ = strings.Cut(path, " ")
		fields[kind+" "+path] = union(fields[kind+" "+path], o.versions[fact])
	}
	b.WriteString("\n## Kinds of line from the CLI\n\nThe kinds that the conversations bring about, besides the answers to the requests above. ✓ was seen.\n\n")
	header("Kind")
	for _, kind := range kindNames {
		row(append([]string{"`" + kind + "`"}, marks(versions, kinds[kind])...)...)
	}
	b.WriteString("\n## Fields that not all versions have\n\nOf kinds that all versions have. Below a field that is missing, nothing is listed.\n\n")
	header("Field")
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		kind, path, _ := strings.Cut(field, " ")
		if len(kinds[kind]) < len(versions) || len(fields[field]) == len(versions) || missingAbove(fields, kind, path, fields[field]) {
			continue
		}
		row(append([]string{"`" + kind + "` `" + path + "`"}, marks(versions, fields[field])...)...)
	}
	return b.String()
}

// missingAbove reports whether a field above path was seen in the same number of versions, so that path
// adds no information.
func missingAbove(fields map[string][]string, kind, path string, versions []string) bool {
	for {
		cut := strings.LastIndexAny(path, ".[")
		if cut <= 0 {
			return false
		}
		path = path[:cut]
		if above := fields[kind+" "+path]; above != nil && len(above) == len(versions) {
			return true
		}
	}
}

func union(a, b []string) []string {
	a = append(a, b...)
	slices.SortFunc(a, CompareVersions)
	return slices.Compact(a)
}

func marks(versions, has []string) []string {
	var cells []string
	for _, v := range versions {
		cells = append(cells, choose(slices.Contains(has, v), "✓", ""))
	}
	return cells
}

func escapeCell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(s)
}

// VersionsPage returns docs/protocol/versions.md.
func VersionsPage(o *Observed) string {
	return `# Versions of the CLI

For authors of hosts: what differs between versions of the Claude Code CLI.

Generated by ` + "`go run ./cmd/protocol record CLI`" + `: each version held the same [conversations](conversations.md) with a scripted model. "Same" is the outcome of the column before. [observed.txt](observed.txt) has every field and value that was seen.

` + o.Table()
}
