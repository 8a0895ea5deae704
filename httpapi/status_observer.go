package httpapi

import "net/http"

// statusObserver calls onStatus with the status of a response, once.
type statusObserver struct {
	http.ResponseWriter
	onStatus func(status int)
}

func (w *statusObserver) WriteHeader(status int) {
	if w.onStatus != nil {
		w.onStatus(status)
		w.onStatus = nil
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusObserver) Write(p []byte) (int, error) {
	if w.onStatus != nil {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Flush implements [http.Flusher] for streams.
func (w *statusObserver) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap supports [http.ResponseController].
func (w *statusObserver) Unwrap() http.ResponseWriter { return w.ResponseWriter }
