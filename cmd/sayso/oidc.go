package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/oidc"
	"github.com/sayso-dev/sayso/internal/ssrf"
)

// oidcSettings configure the identity provider.
type oidcSettings struct {
	Issuer       string
	ClientID     string
	SecretFile   string
	Name         string
	Scopes       []string
	RoleClaim    string
	Roles        []string // value=role
	DefaultRole  string
	clientSecret string // only from the environment, because other users can read flags
}

func (o oidcSettings) used() bool { return o.Issuer != "" }

// complete validates the settings and sets defaults. The secret is read when it is used.
func (o *oidcSettings) complete(publicURL string) error {
	if !o.used() {
		if o.ClientID != "" || o.SecretFile != "" || o.RoleClaim != "" || len(o.Roles) > 0 || o.DefaultRole != "" {
			return errors.New("the OpenID Connect settings need --oidc-issuer")
		}
		return nil
	}
	u, err := url.Parse(o.Issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("--oidc-issuer %s: give the address of the identity provider, such as https://login.example.org/realms/team", o.Issuer)
	}
	if u.Scheme != "https" && !(u.Scheme == "http" && ssrf.IsLoopback(u.Hostname())) {
		return fmt.Errorf("--oidc-issuer %s is not encrypted; give its https address", o.Issuer)
	}
	if o.Name == "" {
		o.Name = u.Host
	}
	switch {
	case o.ClientID == "":
		return errors.New("--oidc-issuer needs --oidc-client-id, the client ID of sayso at the identity provider")
	case publicURL == "":
		return errors.New("--oidc-issuer needs --public-url, to which the identity provider redirects browsers")
	case len(o.Roles) > 0 && o.RoleClaim == "":
		return errors.New("--oidc-role needs --oidc-role-claim, the claim with the roles")
	case len(o.Roles) == 0 && o.DefaultRole == "":
		return errors.New("nobody could sign in: set --oidc-role-claim and --oidc-role, or --oidc-default-role")
	case o.DefaultRole != "" && !isRole(o.DefaultRole):
		return fmt.Errorf("--oidc-default-role %s: use viewer, member or admin", o.DefaultRole)
	}
	for _, pair := range o.Roles {
		if value, role, _ := cutLast(pair, "="); value == "" || !isRole(role) {
			return fmt.Errorf("--oidc-role %s: use a value of the claim and a role, such as ops=admin", pair)
		}
	}
	return nil
}

func isRole(text string) bool {
	return slices.Contains([]account.Role{account.Viewer, account.Member, account.Admin}, account.Role(text))
}

// cutLast is strings.Cut at the last separator, because values of claims may contain it.
func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// roleOf returns the highest role of any of the values.
func (o oidcSettings) roleOf(values []string) account.Role {
	best := account.Role(o.DefaultRole)
	for _, pair := range o.Roles {
		value, role, _ := cutLast(pair, "=")
		if slices.Contains(values, value) && !best.AtLeast(account.Role(role)) {
			best = account.Role(role)
		}
	}
	return best
}

// provider returns the identity provider for the edges, nil without one. It makes no request.
func (o oidcSettings) provider(publicURL string) (*httpapi.OIDC, error) {
	if !o.used() {
		return nil, nil
	}
	secret := o.clientSecret
	if o.SecretFile != "" {
		text, err := os.ReadFile(o.SecretFile)
		if err != nil {
			return nil, fmt.Errorf("--oidc-client-secret-file: %w", err)
		}
		secret = strings.TrimSpace(string(text))
	}
	return &httpapi.OIDC{
		Provider: oidc.New(oidc.Config{
			Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: secret, RedirectURL: publicURL + "/sign-in/oidc",
			Scopes: o.Scopes, RoleClaim: o.RoleClaim,
		}),
		Name: o.Name, RoleOf: o.roleOf,
	}, nil
}
