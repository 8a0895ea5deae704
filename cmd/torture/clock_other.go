//go:build !linux || !amd64

package main

import (
	"errors"
	"time"
)

// clocksCanJump: the clocks of single processes cannot be changed here.
const clocksCanJump = false

func setClock(int, time.Duration) error { return errors.ErrUnsupported }
