package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"
)

// TestPagesNameParts looks for each part of a measurement that a page names.
func TestPagesNameParts(t *testing.T) {
	t.Parallel()
	var known []string
	for _, part := range parts {
		known = append(known, part.name)
	}
	for page, command := range map[string]string{"performance.md": "scripts/bench", "operating/cluster.md": "bin/bench measure"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile(command + ` -only (\w+)`).FindStringSubmatch(string(text))
		if named == nil || !slices.Contains(known, named[1]) {
			t.Errorf("%s names %q, want one of %v", page, named, known)
		}
	}
}

func TestMeasurementIsComparedWithItsLimits(t *testing.T) {
	t.Parallel()
	many := func(n float64) []float64 { return []float64{n, n, n} }
	for _, c := range []struct {
		name           string
		m              measurement
		ratio          float64
		pass, onTarget bool
	}{
		{"no limit", measurement{Rounds: []round{{Samples: many(9)}}}, 0, true, true},
		{"a limit in its unit", measurement{Rounds: []round{{Samples: many(9)}}, Floor: 10, Target: 5}, 0, true, false},
		{"above a limit", measurement{Rounds: []round{{Samples: many(11)}}, Floor: 10}, 0, false, true},
		{"the median of the rounds' ratios", measurement{Anchor: "a", Floor: 2.5, Target: 2,
			Rounds: []round{{many(2), many(1)}, {many(400), many(1)}, {many(200), many(100)}}}, 2, true, true},
		{"a high percentile is that of all rounds", measurement{Anchor: "a", Floor: 2, Percentile: 99,
			Rounds: []round{{many(2), many(1)}, {many(30), many(10)}}}, 3, false, true},
		{"more is better", measurement{Anchor: "a", AtLeast: true, Floor: 1.5, Target: 3,
			Rounds: []round{{many(2), many(1)}}}, 2, true, false},
	} {
		var r report
		c.m.Name = c.name
		r.add(c.m)
		got := r.Measurements[0]
		if got.Ratio != c.ratio || got.Pass != c.pass || got.OnTarget != c.onTarget {
			t.Errorf("%s: ratio %g, pass %t, on target %t; want %g, %t, %t", c.name, got.Ratio, got.Pass, got.OnTarget, c.ratio, c.pass, c.onTarget)
		}
		if below := r.belowFloor(); (len(below) == 0) != c.pass {
			t.Errorf("%s: below the floor are %v", c.name, below)
		}
	}
}

func TestPartsMeasuredAgainReplaceTheirs(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bench.json")
	write := func(commit string, parts ...string) {
		r := report{Commit: commit}
		for _, part := range parts {
			r.Measurements = append(r.Measurements, measurement{Part: part})
		}
		if err := r.write(file); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		commit string
		parts  []string
		want   []string
	}{
		{"1", []string{"start", "path"}, []string{"start", "path"}},
		{"1", []string{"start", "ingest"}, []string{"path", "start", "ingest"}},
		{"2", []string{"ingest"}, []string{"ingest"}},
	} {
		write(c.commit, c.parts...)
		r, err := readReport(file)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range r.Measurements {
			got = append(got, m.Part)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("the file has %v, want %v", got, c.want)
		}
	}
}
