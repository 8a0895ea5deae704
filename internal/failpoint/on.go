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

// The injected errors.
var (
	ErrInjected = errors.New("injected")
	ErrTimeout  = fmt.Errorf("%w: %w", ErrInjected, context.DeadlineExceeded)
)

const (
	faultsVariable = "SAYSO_FAILPOINTS"
	folderVariable = "SAYSO_FAILPOINTS_DIR"
)

// fault is what happens at one point.
type fault struct {
	action string
	hang   time.Duration
	at     int64 // the number of the hit
}

var (
	faults = map[string]fault{}
	twins  = map[string]string{} // by point
	folder = os.Getenv(folderVariable)

	mu       sync.Mutex // protects following
	counts   = map[string]int64{}
	timeouts = map[string]bool{} // points that must return a timeout
)

func init() {
	for _, p := range Points() {
		twins[p.Name] = p.Twin
	}
	if err := parse(os.Getenv(faultsVariable)); err != nil {
		fmt.Fprintf(os.Stderr, "failpoint: %s: %v\n", faultsVariable, err)
		os.Exit(2)
	}
}

// parse parses the faults to inject.
func parse(text string) error {
	for _, one := range strings.Split(text, ",") {
		if one == "" {
			continue
		}
		name, what, found := strings.Cut(one, ":")
		if _, known := twins[name]; !known || !found {
			return fmt.Errorf("%q: there is no point %q", one, name)
		}
		f := fault{at: 1}
		var at, hang string
		if f.action, at, found = strings.Cut(what, "@"); found {
			n, err := strconv.ParseInt(at, 10, 64)
			if err != nil || n < 1 {
				return fmt.Errorf("%q: invalid number of a hit", one)
			}
			f.at = n
		}
		f.action, hang, _ = strings.Cut(f.action, "=")
		switch f.action {
		case "kill", "error", "timeout":
		case "hang":
			var err error
			if f.hang, err = time.ParseDuration(hang); err != nil {
				return fmt.Errorf("%q: %w", one, err)
			}
		default:
			return fmt.Errorf("%q: there is no action %q", one, f.action)
		}
		faults[name] = f
	}
	return nil
}

// Hit marks a point; see the package comment.
func Hit(name string) error {
	twin, known := twins[name]
	if !known {
		panic("failpoint: there is no point " + name)
	}
	n := count(name)
	mu.Lock()
	timedOut := timeouts[name]
	delete(timeouts, name)
	mu.Unlock()
	if timedOut {
		return fmt.Errorf("%s: %w", name, ErrTimeout)
	}
	f, injected := faults[name]
	if !injected || f.at != n {
		return nil
	}
	appendTo("fired", fmt.Sprintf("%s %s %d %d\n", name, f.action, n, os.Getpid()))
	switch f.action {
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "hang":
		time.Sleep(f.hang)
	case "error":
		return fmt.Errorf("%s: %w", name, ErrInjected)
	case "timeout":
		if twin == "" {
			return fmt.Errorf("%s: %w", name, ErrTimeout)
		}
		mu.Lock()
		timeouts[twin] = true
		mu.Unlock()
	}
	return nil
}

// After marks the point after a step that returned err.
func After(name string, err error) error {
	if err != nil {
		return err
	}
	return Hit(name)
}

// Environ returns the variables that a process started without an environment needs.
func Environ() []string {
	return []string{faultsVariable + "=" + os.Getenv(faultsVariable), folderVariable + "=" + folder}
}

// count counts a hit of a point and returns its number, from 1.
func count(name string) int64 {
	if folder != "" {
		return appendTo(name, ".")
	}
	mu.Lock()
	defer mu.Unlock()
	counts[name]++
	return counts[name]
}

// appendTo appends text to a file in the folder and returns the file's length. Without a
// folder it does nothing.
func appendTo(name, text string) int64 {
	if folder == "" {
		return 0
	}
	f, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	// The write is atomic, so the offset after it includes no later write of another process.
	if _, err := f.WriteString(text); err != nil {
		panic(err)
	}
	end, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		panic(err)
	}
	return end
}
