package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// summary returns min/p50/p99/max in milliseconds.
func summary(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	at := func(p int) int64 { return percentile(all, p).Milliseconds() }
	return fmt.Sprintf("min %d, p50 %d, p99 %d, max %d", at(0), at(50), at(99), at(100))
}

// printFaults prints the number of faults of each kind as the end of a table, then the faults.
func printFaults(out io.Writer, faults []fault) {
	counts := map[string]int{}
	for _, f := range faults {
		counts[f.Kind]++
	}
	for _, kind := range kinds {
		fmt.Fprintf(out, "| **%s** | **%d** |\n", kind, counts[kind])
	}
	nameFaults(out, faults)
}

func nameFaults(out io.Writer, faults []fault) {
	const maxNamed = 15 // of one kind
	named := map[string]int{}
	for _, f := range faults {
		switch named[f.Kind]++; {
		case named[f.Kind] <= maxNamed:
			fmt.Fprintf(out, "\n%s: %s: %s", f.Kind, f.ID, f.Message)
		case named[f.Kind] == maxNamed+1:
			fmt.Fprintf(out, "\n%s: and more", f.Kind)
		}
	}
	if len(faults) > 0 {
		fmt.Fprintln(out)
	}
}

func percentile(all []time.Duration, p int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}
