package postgrestest

import "testing"

// Server is an [Instance] for a test. Its methods fail the test on an error.
type Server struct {
	t        testing.TB
	instance *Instance
}

// NewServer starts a cluster for the duration of the test. Each setting is one of the server, such
// as "fsync=off".
func NewServer(t testing.TB, settings ...string) *Server {
	t.Helper()
	instance, err := Start(settings...)
	s := &Server{t: t, instance: instance}
	s.must(err)
	t.Cleanup(func() {
		if err := instance.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *Server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// DSN calls [Instance.DSN].
func (s *Server) DSN() string { return s.instance.DSN() }

// Stop calls [Instance.Stop].
func (s *Server) Stop() { s.t.Helper(); s.must(s.instance.Stop()) }

// Start calls [Instance.Start].
func (s *Server) Start() { s.t.Helper(); s.must(s.instance.Start()) }

// Await calls [Instance.Await].
func (s *Server) Await() { s.t.Helper(); s.must(s.instance.Await()) }

// KillBackend calls [Instance.KillBackend].
func (s *Server) KillBackend() { s.t.Helper(); s.must(s.instance.KillBackend()) }

// Hang calls [Instance.Hang]. The end of the test resumes the server.
func (s *Server) Hang() (resume func()) {
	s.t.Helper()
	resume, err := s.instance.Hang()
	if resume != nil {
		s.t.Cleanup(resume) // otherwise it would never end
	}
	s.must(err)
	return resume
}
