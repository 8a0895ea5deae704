package wsapi

// Times that tests wait for.
const (
	WriteDeadline   = writeDeadline
	TranscriptEvery = transcriptEvery
)
