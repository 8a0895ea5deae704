package httpapi

import (
	"context"
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
// purpose, on any server.
func (s *Server) beginCeremony(w http.ResponseWriter, r *http.Request, purpose string, v any) error {
	aead, err := ceremonyCipher(r.Context(), s.o.Store)
	if err != nil {
		return err
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	text := aead.Seal(nonce, nonce, wire.Encode(sealedCeremony{Until: time.Now().Add(ceremonyTTL), Value: wire.Encode(v)}), []byte(purpose))
	http.SetCookie(w, s.newCeremonyCookie(r, purpose, base64.RawURLEncoding.EncodeToString(text), int(ceremonyTTL.Seconds())))
	return nil
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
	aead, err := ceremonyCipher(r.Context(), s.o.Store)
	if err != nil {
		return err
	}
	http.SetCookie(w, s.newCeremonyCookie(r, purpose, "", -1))
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || len(text) < aead.NonceSize() {
		return expired
	}
	nonce := text[:aead.NonceSize()]
	plain, err := aead.Open(nil, nonce, text[len(nonce):], []byte(purpose))
	if err != nil {
		return expired
	}
	var opened sealedCeremony
	if err := json.Unmarshal(plain, &opened); err != nil {
		return err
	}
	// The nonce serves as the id: without the key, nobody can make a cookie that opens.
	first, err := s.o.Store.FinishCeremony(context.WithoutCancel(r.Context()), nonce, opened.Until)
	if err != nil {
		return err
	}
	if !first {
		return expired
	}
	return json.Unmarshal(opened.Value, v)
}
