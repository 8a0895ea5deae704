package httpapi

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

// ceremonyTTL is how long a person may take between the two calls of a two-step
// sign-in.
const ceremonyTTL = 5 * time.Minute

// ceremonies store the state of a two-step sign-in encrypted in a cookie of the browser
// that began it, so only that browser can finish it, and unfinished ones take no
// memory. Each can be finished once. A restart of the server invalidates all.
type ceremonies struct {
	aead cipher.AEAD

	mu   sync.Mutex
	used map[string]time.Time // nonce → expiry
}

func newCeremonies() *ceremonies {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has a length of AES
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // the block is AES
	}
	return &ceremonies{aead: aead, used: map[string]time.Time{}}
}

// sealedCeremony is the plaintext of the cookie.
type sealedCeremony struct {
	Until time.Time       `json:"until"`
	Value json.RawMessage `json:"value"`
}

func ceremonyCookieName(s *Server, r *http.Request, purpose string) string {
	return s.cookieName(r) + "-" + purpose
}

// beginCeremony stores v in the browser until finishCeremony is called for the same
// purpose.
func (s *Server) beginCeremony(w http.ResponseWriter, r *http.Request, purpose string, v any) {
	c := s.ceremonies
	nonce := make([]byte, c.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	text := c.aead.Seal(nonce, nonce, wire.Encode(sealedCeremony{Until: time.Now().Add(ceremonyTTL), Value: wire.Encode(v)}), []byte(purpose))
	http.SetCookie(w, s.newCeremonyCookie(r, purpose, base64.RawURLEncoding.EncodeToString(text), int(ceremonyTTL.Seconds())))
}

func (s *Server) newCeremonyCookie(r *http.Request, purpose, value string, maxAge int) *http.Cookie {
	cookie := s.newCookie(r, value, maxAge)
	cookie.Name = ceremonyCookieName(s, r, purpose)
	return cookie
}

// finishCeremony decodes into v what beginCeremony stored. It succeeds once.
func (s *Server) finishCeremony(w http.ResponseWriter, r *http.Request, purpose string, v any) error {
	expired := refusal.New("begin_again")
	cookie, err := r.Cookie(ceremonyCookieName(s, r, purpose))
	if err != nil {
		return expired
	}
	http.SetCookie(w, s.newCeremonyCookie(r, purpose, "", -1))
	c := s.ceremonies
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || len(text) < c.aead.NonceSize() {
		return expired
	}
	nonce := text[:c.aead.NonceSize()]
	plain, err := c.aead.Open(nil, nonce, text[len(nonce):], []byte(purpose))
	if err != nil {
		return expired
	}
	var opened sealedCeremony
	if err := json.Unmarshal(plain, &opened); err != nil {
		return err
	}
	if !c.useOnce(string(nonce), opened.Until, time.Now()) {
		return expired
	}
	return json.Unmarshal(opened.Value, v)
}

// useOnce reports whether a ceremony has not expired and is finished for the first
// time.
func (c *ceremonies) useOnce(nonce string, until, now time.Time) bool {
	if !now.Before(until) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.used[nonce]; used {
		return false
	}
	for other, expiry := range c.used {
		if now.After(expiry) {
			delete(c.used, other)
		}
	}
	c.used[nonce] = until
	return true
}
