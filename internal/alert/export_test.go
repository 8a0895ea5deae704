package alert

import (
	"context"
	"net/http"
)

type through func(*http.Request) (*http.Response, error)

func (f through) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Through makes an alerter speak to a function instead of the network.
func Through(a *Alerter, f func(*http.Request) (*http.Response, error)) {
	a.http = &http.Client{Transport: through(f)}
}

// Dial connects as an alerter without private addresses does.
func Dial(ctx context.Context, address string) error {
	c, err := newHTTP(false).Transport.(*http.Transport).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return c.Close()
}

// Known is how many sessions and alerts an alerter has in memory that does nothing just now.
func Known(a *Alerter) int { return len(a.known) + len(a.owners) + len(a.deliveries) }
