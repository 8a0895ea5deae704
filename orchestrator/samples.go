package orchestrator

import (
	"slices"
	"time"
)

// Sample is what a process and all it runs took at one moment.
type Sample struct {
	At     time.Time
	Memory uint64  // bytes resident
	CPU    float64 // cores in use since the sample before
}

// The ring of samples is kept here and not in each tab, so that a new tab sees
// the last minutes at once, and all see the same.
const (
	sampleEvery = 5 * time.Second
	samplesKept = 60 // five minutes
)

// addSample returns a copy of samples with one more, unless the last is too recent.
func addSample(samples []Sample, s Sample) []Sample {
	if n := len(samples); n > 0 && s.At.Sub(samples[n-1].At) < sampleEvery {
		return samples
	}
	return append(slices.Clone(samples[max(0, len(samples)-samplesKept+1):]), s)
}
