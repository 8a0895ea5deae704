//go:build failpoints

package failpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The errors that are injected.
var (
	ErrInjected = errors.New("injected")
	ErrTimeout  = fmt.Errorf("%w: %w", ErrInjected, context.DeadlineExceeded)
)

const (
	ordersVariable = "SAYSO_FAILPOINTS"
	folderVariable = "SAYSO_FAILPOINTS_DIR"
)

// An order is what is to happen at one point.
type order struct {
	action string
	hang   time.Duration
	at     int64 // the hit
}

var (
	orders = map[string]order{}
	twins  = map[string]string{} // of every point
	folder = os.Getenv(folderVariable)

	mu     sync.Mutex
	counts = map[string]int64{}
	told   = map[string]bool{} // twins that are to tell of a timeout
)

func init() {
	for _, p := range Points() {
		twins[p.Name] = p.Twin
	}
	if err := read(os.Getenv(ordersVariable)); err != nil {
		fmt.Fprintf(os.Stderr, "failpoint: %s: %v\n", ordersVariable, err)
		os.Exit(2)
	}
}

// read takes in orders.
func read(text string) error {
	for _, one := range strings.Split(text, ",") {
		if one == "" {
			continue
		}
		name, what, found := strings.Cut(one, ":")
		if _, known := twins[name]; !known || !found {
			return fmt.Errorf("%q: there is no point %q", one, name)
		}
		o := order{at: 1}
		var at, hang string
		if o.action, at, found = strings.Cut(what, "@"); found {
			n, err := strconv.ParseInt(at, 10, 64)
			if err != nil || n < 1 {
				return fmt.Errorf("%q: no number of a hit", one)
			}
			o.at = n
		}
		o.action, hang, _ = strings.Cut(o.action, "=")
		switch o.action {
		case "kill", "error", "timeout":
		case "hang":
			var err error
			if o.hang, err = time.ParseDuration(hang); err != nil {
				return fmt.Errorf("%q: %w", one, err)
			}
		default:
			return fmt.Errorf("%q: there is no action %q", one, o.action)
		}
		orders[name] = o
	}
	return nil
}

// Hit marks a place; see the package.
func Hit(name string) error {
	twin, known := twins[name]
	if !known {
		panic("failpoint: no point is called " + name)
	}
	n := count(name)
	mu.Lock()
	timedOut := told[name]
	delete(told, name)
	mu.Unlock()
	if timedOut {
		return fmt.Errorf("%s: %w", name, ErrTimeout)
	}
	o, ordered := orders[name]
	if !ordered || o.at != n {
		return nil
	}
	note("fired", fmt.Sprintf("%s %s %d %d\n", name, o.action, n, os.Getpid()))
	switch o.action {
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "hang":
		time.Sleep(o.hang)
	case "error":
		return fmt.Errorf("%s: %w", name, ErrInjected)
	case "timeout":
		if twin == "" {
			return fmt.Errorf("%s: %w", name, ErrTimeout)
		}
		mu.Lock()
		told[twin] = true
		mu.Unlock()
	}
	return nil
}

// After marks the place behind a step that has returned err.
func After(name string, err error) error {
	if err != nil {
		return err
	}
	return Hit(name)
}

// Environ is what a process of ours that gets no environment must be given.
func Environ() []string {
	return []string{ordersVariable + "=" + os.Getenv(ordersVariable), folderVariable + "=" + folder}
}

// count returns which hit of the point this is, from 1 on.
func count(name string) int64 {
	if folder != "" {
		return note(name, ".")
	}
	mu.Lock()
	defer mu.Unlock()
	counts[name]++
	return counts[name]
}

// note appends to a file of the folder, if there is one, and returns its length.
func note(name, text string) int64 {
	if folder == "" {
		return 0
	}
	f, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	// Appended in one write, so the place behind it is our own.
	if _, err := f.WriteString(text); err != nil {
		panic(err)
	}
	end, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		panic(err)
	}
	return end
}
