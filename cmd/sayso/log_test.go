package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestWhatWasCalledOffIsNotLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, _, err := newLog(settings{LogFormat: "text", LogLevel: "info"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	log = log.With("session_id", "s1")
	log.WarnContext(stopped, "called off", "error", fmt.Errorf("sqlite: grants: %w", context.Canceled))
	log.WarnContext(stopped, "broken meanwhile", "error", errors.New("disk full"))
	log.WarnContext(t.Context(), "cancelled by the database", "error", context.Canceled)
	got := out.String()
	if strings.Contains(got, "called off") || !strings.Contains(got, "broken meanwhile") || !strings.Contains(got, "cancelled by the database") {
		t.Errorf("logged:\n%s", got)
	}
}
