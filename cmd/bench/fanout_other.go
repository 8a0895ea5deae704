//go:build !linux

package main

import (
	"context"
	"errors"
)

func benchFanOut(context.Context, settings) error {
	return errors.New("fan-out is measured on Linux only")
}
