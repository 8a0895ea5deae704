//go:build !dev

package main

import (
	"net/http"

	"github.com/sayso-dev/sayso/frontend"
)

// webApp serves the web app.
func webApp() http.Handler { return frontend.Handler() }
