//go:build !linux || !amd64

package main

import (
	"errors"
	"time"
)

// clocksCanJump reports whether the clock of a single process can be changed on this platform.
const clocksCanJump = false

func setClock(int, time.Duration) error { return errors.ErrUnsupported }
