package shim

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"sync"
)

// A tail keeps the last stderrMax bytes that were written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte // at most twice stderrMax
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[max(0, len(b)-stderrMax):]...)
	if over := len(t.buf) - stderrMax; over > stderrMax {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.buf[max(0, len(t.buf)-stderrMax):]), "\uFFFD")
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
