package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// report collects what the parts measured. It is written as JSON, so that runs can be
// compared and drawn.
type report struct {
	Time         time.Time         `json:"time"`
	Machine      machine           `json:"machine"`
	Commit       string            `json:"commit"`
	Versions     map[string]string `json:"versions"`
	Measurements []measurement     `json:"measurements"`
	Curves       []curve           `json:"curves"`
	// Browser are the rows of the web app, which scripts/bench adds.
	Browser json.RawMessage `json:"browser,omitempty"`
}

type machine struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Kernel     string `json:"kernel,omitempty"`
	Processor  string `json:"processor,omitempty"`
	Processors int    `json:"processors"`
	Memory     string `json:"memory,omitempty"`
}

// measurement is one row of the table: a figure beside its anchor, floor and target.
// The part that measures it fills in the fields up to AtLeast; [report.add] does the rest.
type measurement struct {
	Part   string  `json:"part"`             // what -only takes
	Name   string  `json:"name"`             // stable, unique, in snake_case: "approval_p50"
	What   string  `json:"what"`             // for people
	Unit   string  `json:"unit"`             // of the samples
	Anchor string  `json:"anchor,omitempty"` // what it is compared with; empty: floor and target are in Unit
	Rounds []round `json:"rounds"`
	// Percentile is the one that is compared with the anchor's, or with floor and target;
	// 0 means 50. Above 50, the samples of all rounds are taken together.
	Percentile int     `json:"percentile"`
	Floor      float64 `json:"floor,omitempty"`  // must hold; 0: none
	Target     float64 `json:"target,omitempty"` // should hold; 0: none
	AtLeast    bool    `json:"at_least"`         // more is better, as with MB/s; else floor and target are upper limits

	P50       float64 `json:"p50"`
	P99       float64 `json:"p99"`
	AnchorP50 float64 `json:"anchor_p50,omitempty"`
	AnchorP99 float64 `json:"anchor_p99,omitempty"`
	Ratio     float64 `json:"ratio,omitempty"` // to the anchor
	Pass      bool    `json:"pass"`            // the floor holds, or there is none
	OnTarget  bool    `json:"on_target"`
}

// round holds the samples of both sides from one round.
type round struct {
	Samples []float64 `json:"samples"`
	Anchor  []float64 `json:"anchor,omitempty"`
}

// curve shows how a figure grows with something.
type curve struct {
	Part   string  `json:"part"`
	Name   string  `json:"name"` // stable, unique, in snake_case
	What   string  `json:"what"` // for people
	X      string  `json:"x"`    // what grows: "sessions"
	Unit   string  `json:"unit"` // of P50 and P99
	Points []point `json:"points"`
}

type point struct {
	X       float64   `json:"x"`
	P50     float64   `json:"p50"`
	P99     float64   `json:"p99"`
	Samples []float64 `json:"samples"`
}

// add completes a measurement, keeps it and prints its row.
func (r *report) add(m measurement) {
	if m.Percentile == 0 {
		m.Percentile = 50
	}
	var all, anchor, ratios []float64
	for _, round := range m.Rounds {
		all, anchor = append(all, round.Samples...), append(anchor, round.Anchor...)
		if len(round.Anchor) > 0 {
			ratios = append(ratios, quantile(round.Samples, m.Percentile)/quantile(round.Anchor, m.Percentile))
		}
	}
	m.P50, m.P99 = quantile(all, 50), quantile(all, 99)
	figure := quantile(all, m.Percentile)
	if m.Anchor != "" {
		m.AnchorP50, m.AnchorP99 = quantile(anchor, 50), quantile(anchor, 99)
		m.Ratio = median(ratios)
		if m.Percentile > 50 {
			m.Ratio = figure / quantile(anchor, m.Percentile)
		}
		figure = m.Ratio
	}
	holds := func(limit float64) bool {
		return limit == 0 || m.AtLeast && figure >= limit || !m.AtLeast && figure <= limit
	}
	m.Pass, m.OnTarget = holds(m.Floor), holds(m.Target)
	r.Measurements = append(r.Measurements, m)
	fmt.Println(m)
}

// String returns the row of a table that [measurementHead] begins.
func (m measurement) String() string {
	verdict := "ok"
	switch {
	case !m.Pass:
		verdict = "**below the floor**"
	case !m.OnTarget:
		verdict = "target not reached"
	case m.Floor == 0 && m.Target == 0:
		verdict = ""
	}
	orNone := func(n float64, shown string) string {
		if n == 0 {
			return ""
		}
		return shown
	}
	ratio := orNone(m.Ratio, fmt.Sprintf("%.2f (p%d)", m.Ratio, m.Percentile))
	return fmt.Sprintf("| %s | %s, %s %s | %s | %s | %s | %s | %s |", m.What, formatFigure(m.P50), formatFigure(m.P99), m.Unit,
		orNone(m.AnchorP50, fmt.Sprintf("%s: %s, %s", m.Anchor, formatFigure(m.AnchorP50), formatFigure(m.AnchorP99))), ratio,
		orNone(m.Floor, formatFigure(m.Floor)), orNone(m.Target, formatFigure(m.Target)), verdict)
}

// measurementHead begins a table of measurements.
func measurementHead(title string) {
	fmt.Printf("\n## %s\n\n", title)
	header("what", "p50, p99", "anchor: p50, p99", "ratio", "floor", "target", "")
}

// draw keeps a curve and prints its points.
func (r *report) draw(c curve) {
	for i := range c.Points {
		p := &c.Points[i]
		p.P50, p.P99 = quantile(p.Samples, 50), quantile(p.Samples, 99)
	}
	r.Curves = append(r.Curves, c)
	fmt.Printf("\n%s\n\n", c.What)
	header(c.X, "p50 "+c.Unit, "p99 "+c.Unit)
	for _, p := range c.Points {
		fmt.Printf("| %s | %s | %s |\n", formatFigure(p.X), formatFigure(p.P50), formatFigure(p.P99))
	}
}

// belowFloor names the rows whose floor does not hold.
func (r *report) belowFloor() (names []string) {
	for _, m := range r.Measurements {
		if !m.Pass {
			names = append(names, m.Name)
		}
	}
	return names
}

// newReport describes the machine and what is measured.
func newReport() *report {
	r := &report{
		Time: time.Now().UTC(), Commit: firstLine("git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"),
		Versions: map[string]string{"go": runtime.Version()}, Curves: []curve{},
	}
	r.Machine = machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Processors: runtime.NumCPU(), Kernel: firstLine("uname", "-r")}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		r.Machine.Processor = after(string(text), "model name")
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		r.Machine.Memory = after(string(text), "MemTotal")
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range build.Deps {
			if slices.Contains([]string{"modernc.org/sqlite", "github.com/jackc/pgx/v5", "github.com/coder/websocket"}, dep.Path) {
				r.Versions[dep.Path] = dep.Version
			}
		}
	}
	if node := firstLine("node", "--version"); node != "" {
		r.Versions["node"] = node
	}
	return r
}

// write keeps the report in a file. Parts that the file has from the same commit and
// that were not measured again stay, so that one part can be repeated.
func (r *report) write(file string) error {
	before, err := readReport(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out := *r
	if before.Commit == r.Commit {
		measured := map[string]bool{}
		for _, m := range r.Measurements {
			measured[m.Part] = true
		}
		for _, c := range r.Curves {
			measured[c.Part] = true
		}
		out.Browser = before.Browser
		out.Measurements = append(slices.DeleteFunc(before.Measurements, func(m measurement) bool { return measured[m.Part] }), r.Measurements...)
		out.Curves = append(slices.DeleteFunc(before.Curves, func(c curve) bool { return measured[c.Part] }), r.Curves...)
	}
	encoded, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(encoded, '\n'), 0o644)
}

// readReport reads what write wrote.
func readReport(file string) (r report, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return report{}, err
	}
	return r, json.Unmarshal(text, &r)
}

// firstLine returns the first line that a program prints; empty if it cannot run.
func firstLine(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

// after returns the text after a name and colon in a file of /proc.
func after(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// quantile returns a percentile of values; 0 if there are none.
func quantile(all []float64, percent int) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

// inUnit converts durations to a unit.
func inUnit(unit time.Duration, all []time.Duration) []float64 {
	out := make([]float64, len(all))
	for i, d := range all {
		out[i] = float64(d) / float64(unit)
	}
	return out
}

// formatFigure formats a number with about three significant digits.
func formatFigure(n float64) string {
	switch {
	case n == float64(int64(n)), n >= 100 || n <= -100:
		return fmt.Sprintf("%.0f", n)
	case n >= 10:
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.3g", n)
}
