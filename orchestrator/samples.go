package orchestrator

import (
	"slices"
	"time"
)

// Sample is the resource usage of a process and its descendants at one time.
type Sample struct {
	At     time.Time
	Memory uint64  // bytes resident
	CPU    float64 // cores in use since the previous sample
}

// Samples are kept in the server and not in each tab, so that a new tab shows the last minutes at
// once, and all tabs show the same.
const (
	sampleEvery = 5 * time.Second
	maxSamples  = 60 // five minutes
)

// addSample returns a copy of samples with s appended, of at most maxSamples. If the last sample is
// more recent than sampleEvery, it returns samples unchanged.
func addSample(samples []Sample, s Sample) []Sample {
	if n := len(samples); n > 0 && s.At.Sub(samples[n-1].At) < sampleEvery {
		return samples
	}
	return append(slices.Clone(samples[max(0, len(samples)-maxSamples+1):]), s)
}
