package httpapi

import (
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/refusal"
)

// requireSetUpBrowser refuses API tokens: only a browser sets up a server.
func requireSetUpBrowser(who account.Identity) error {
	if who.Credential.Kind != account.Cookie || who.Credential.IsLimited() {
		return refusal.New("set_up_in_browser")
	}
	return nil
}

// requireBrowser refuses API tokens where only a browser makes sense.
func requireBrowser(who account.Identity) error {
	if who.Credential.Kind != account.Cookie || who.Credential.IsLimited() {
		return refusal.New("browser_only")
	}
	return nil
}

// requireUnlimited refuses a token that has fewer rights than its user or expires, and
// credentials created with it. Such a token must not extend its own rights or leave
// behind anything that outlives it.
func requireUnlimited(who account.Identity) error {
	if who.Credential.IsLimited() {
		return refusal.New("limited_token")
	}
	return nil
}
