package claude

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Failures, for errors.Is. See also [ErrCLIMissing], [ErrClosed] and [ErrLaunch].
var (
	// ErrTooOld means that the CLI is older than [Options.MinVersion]. The error is a
	// *[VersionError].
	ErrTooOld = errors.New("the CLI is too old")
	// ErrNotSignedIn means that the CLI has no account and no API key, or that the API refused
	// them. The error is a *[ResultError].
	ErrNotSignedIn = errors.New("the CLI is not signed in")
	// ErrLimit means that a limit on turns or costs, or of the account, is reached. The error is
	// a *[ResultError], or for [Options.BackgroundWait] a *[BackgroundError].
	ErrLimit = errors.New("a limit is reached")
	// ErrProtocol means that the CLI broke its protocol. [ErrMalformed], [ErrReused] and others
	// match it too.
	ErrProtocol = errors.New("the CLI broke its protocol")
	// ErrBusy means that another turn of the same client is being iterated.
	ErrBusy = errors.New("another turn is running")
)

// protocolError is a kind of [ErrProtocol].
type protocolError string

func (e protocolError) Error() string        { return string(e) }
func (e protocolError) Is(target error) bool { return target == ErrProtocol }

// VersionError reports a CLI that is too old.
type VersionError struct {
	Path, Version, MinVersion string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s is version %s, but %s or newer is needed: update it with claude update", e.Path, e.Version, e.MinVersion)
}

// Is reports whether target is [ErrTooOld].
func (e *VersionError) Is(target error) bool { return target == ErrTooOld }

// ExitError reports that the CLI exited with a status other than 0, or was killed by a signal.
type ExitError struct {
	Status int            // -1 if a signal killed it
	Signal syscall.Signal // 0 for none
	Stderr string         // its last lines, up to 64 KiB
	Err    error          // usually an *exec.ExitError
}

func (e *ExitError) Error() string {
	text := fmt.Sprintf("the CLI exited with status %d", e.Status)
	if e.Signal != 0 {
		text = fmt.Sprintf("the CLI was ended by signal %d (%v)", int(e.Signal), e.Signal)
	}
	if last := lastLine(e.Stderr); last != "" {
		text += ": " + last
	}
	return text
}

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	return strings.TrimSpace(s)
}

// exitError waits for the process and returns how it ended; nil for status 0.
func exitError(p cliProcess) error {
	err := p.Wait()
	if err == nil {
		return nil
	}
	out := &ExitError{Status: -1, Stderr: p.Stderr(), Err: err}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		out.Status = exit.ExitCode()
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			out.Signal = status.Signal()
		}
	}
	return out
}

// ResultError reports a turn that ended with an error. It matches [ErrLimit] or [ErrNotSignedIn] if
// that is the reason.
type ResultError struct {
	// Result is the CLI's report; its raw parts may be kept.
	Result *Result
	// Reason is [Assistant.Error] of the response that failed, such as rate_limit; "" if there
	// was none.
	Reason string
}

func (e *ResultError) Error() string {
	text := e.Result.Text
	if text == "" {
		text = strings.Join(e.Result.Errors, "; ")
	}
	if text == "" {
		text = strings.ReplaceAll(e.Result.Subtype, "_", " ")
	}
	return "claude: the turn failed: " + text
}

// Is reports whether target is [ErrLimit] or [ErrNotSignedIn], and the turn failed for that reason.
func (e *ResultError) Is(target error) bool {
	switch target {
	case ErrLimit:
		return slices.Contains([]string{"error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries"}, e.Result.Subtype) ||
			slices.Contains([]string{"blocking_limit", "max_turns", "budget_exhausted"}, e.Result.TerminalReason) ||
			slices.Contains([]string{"rate_limit", "billing_error"}, e.Reason) || e.Result.APIErrorStatus == 429
	case ErrNotSignedIn:
		return slices.Contains([]string{"authentication_failed", "oauth_org_not_allowed"}, e.Reason) || e.Result.APIErrorStatus == 401
	}
	return false
}

// BackgroundError reports that background agents were still running after [Options.BackgroundWait]. It
// matches [ErrLimit].
type BackgroundError struct {
	Tasks []Task // still running
	After time.Duration
}

func (e *BackgroundError) Error() string {
	return fmt.Sprintf("claude: %d background tasks still ran %v after the last result", len(e.Tasks), e.After)
}

// Is reports whether target is [ErrLimit].
func (e *BackgroundError) Is(target error) bool { return target == ErrLimit }
