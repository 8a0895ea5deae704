package postgrestest

import "testing"

// Server is an [Instance] that a test has for itself. Its methods fail the test when they
// cannot do what they say.
type Server struct {
	t        testing.TB
	instance *Instance
}

// NewServer starts a cluster that ends with the test. Every setting is one of the
// server, such as "fsync=off".
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

// DSN is [Instance.DSN].
func (s *Server) DSN() string { return s.instance.DSN() }

// Stop is [Instance.Stop].
func (s *Server) Stop() { s.t.Helper(); s.must(s.instance.Stop()) }

// Start is [Instance.Start].
func (s *Server) Start() { s.t.Helper(); s.must(s.instance.Start()) }

// Await is [Instance.Await].
func (s *Server) Await() { s.t.Helper(); s.must(s.instance.Await()) }

// KillBackend is [Instance.KillBackend].
func (s *Server) KillBackend() { s.t.Helper(); s.must(s.instance.KillBackend()) }

// Hang is [Instance.Hang]. The server goes on at the end of the test at the latest.
func (s *Server) Hang() (resume func()) {
	s.t.Helper()
	resume, err := s.instance.Hang()
	if resume != nil {
		s.t.Cleanup(resume) // or it would never end
	}
	s.must(err)
	return resume
}
