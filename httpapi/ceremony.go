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

// ceremonyLife is how long a person may take between the two calls of a sign-in
// that has two.
const ceremonyLife = 5 * time.Minute

// ceremonies keep what was begun in a cookie of the browser that began it, sealed:
// so nobody else can end it, and whoever begins many costs no memory. Each is good
// once; those from before a restart are good no more.
type ceremonies struct {
	seal cipher.AEAD

	mu   sync.Mutex
	used map[string]time.Time // nonce → when it would have run out
}

func newCeremonies() *ceremonies {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has a length of AES
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // the block is AES
	}
	return &ceremonies{seal: seal, used: map[string]time.Time{}}
}

// sealed is what the cookie holds.
type sealed struct {
	Until time.Time       `json:"until"`
	Value json.RawMessage `json:"value"`
}

func ceremonyCookie(s *Server, r *http.Request, what string) string {
	return s.cookieName(r) + "-" + what
}

// begin hands v to the browser until it comes back with finish for the same what.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, what string, v any) {
	c := s.ceremonies
	nonce := make([]byte, c.seal.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	text := c.seal.Seal(nonce, nonce, wire.Encode(sealed{Until: time.Now().Add(ceremonyLife), Value: wire.Encode(v)}), []byte(what))
	http.SetCookie(w, s.ceremony(r, what, base64.RawURLEncoding.EncodeToString(text), int(ceremonyLife.Seconds())))
}

func (s *Server) ceremony(r *http.Request, what, value string, maxAge int) *http.Cookie {
	cookie := s.cookie(r, value, maxAge)
	cookie.Name = ceremonyCookie(s, r, what)
	return cookie
}

// finish returns what begin was given, once.
func (s *Server) finish(w http.ResponseWriter, r *http.Request, what string, v any) error {
	over := refusal.New("begin_again")
	cookie, err := r.Cookie(ceremonyCookie(s, r, what))
	if err != nil {
		return over
	}
	http.SetCookie(w, s.ceremony(r, what, "", -1))
	c := s.ceremonies
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || len(text) < c.seal.NonceSize() {
		return over
	}
	nonce := text[:c.seal.NonceSize()]
	plain, err := c.seal.Open(nil, nonce, text[len(nonce):], []byte(what))
	if err != nil {
		return over
	}
	var kept sealed
	if err := json.Unmarshal(plain, &kept); err != nil {
		return err
	}
	if !c.once(string(nonce), kept.Until, time.Now()) {
		return over
	}
	return json.Unmarshal(kept.Value, v)
}

// once reports whether a ceremony is in time and is ended for the first time.
func (c *ceremonies) once(nonce string, until, now time.Time) bool {
	if !now.Before(until) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.used[nonce]; used {
		return false
	}
	for known, at := range c.used {
		if now.After(at) {
			delete(c.used, known)
		}
	}
	c.used[nonce] = until
	return true
}
