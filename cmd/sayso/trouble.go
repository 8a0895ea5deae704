package main

import (
	"errors"

	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/wsapi"
)

// trouble names errors of the store that hold for whatever else is to be stored.
func trouble(err error) wsapi.NoticeCode {
	switch {
	case errors.Is(err, store.ErrBroken):
		return wsapi.Broken
	case errors.Is(err, store.ErrReadOnly):
		return wsapi.ReadOnly
	case errors.Is(err, store.ErrUnavailable):
		return wsapi.Unavailable
	}
	return ""
}
