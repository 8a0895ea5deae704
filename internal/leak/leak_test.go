package leak

import (
	"strings"
	"testing"
	"time"
)

func TestSurvivorsAreFound(t *testing.T) {
	end := make(chan bool)
	go func() { <-end }()
	if left := survivors(time.Now()); !strings.Contains(left, "TestSurvivorsAreFound") {
		t.Errorf("got %q, want the goroutine of this test", left)
	}
	close(end)
	if left := survivors(time.Now().Add(patience)); left != "" {
		t.Errorf("after its end: got %q, want nothing", left)
	}
}
