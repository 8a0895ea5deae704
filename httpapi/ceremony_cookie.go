package httpapi

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

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
