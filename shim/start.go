package shim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/failpoint"
)

// Handle is a started shim.
type Handle struct {
	Dir string
	PID int // pid of the shim
	CLI int // pid of the CLI
	// Done is closed when the shim has ended, and was reaped by this process, its parent.
	Done <-chan struct{}
}

// Start creates p.Dir, and starts exe with the argument "shim", which starts the CLI. Both outlive
// ctx, which only bounds the start. After an error nothing is left. The error is [ErrProgram],
// [ErrCLIMissing], [ErrCLINotExecutable] or [ErrFolderMissing] if the cause is known.
func Start(ctx context.Context, exe string, p Params) (Handle, error) {
	if ctx.Err() != nil {
		return Handle{}, fmt.Errorf("shim: start: %w", context.Cause(ctx))
	}
	p.Version, p.Token = Version, randomHex(32)
	for _, text := range slices.Concat([]string{p.Dir, p.Path, p.Cwd}, p.Args, p.Env) {
		if !utf8.ValidString(text) { // JSON would change the text
			return Handle{}, fmt.Errorf("shim: start: %q is not UTF-8", text)
		}
	}
	if err := os.MkdirAll(filepath.Dir(p.Dir), 0o700); err != nil {
		return Handle{}, fmt.Errorf("shim: start: %w", err)
	}
	if err := os.Mkdir(p.Dir, 0o700); err != nil { // fails if it exists, or is a link
		return Handle{}, fmt.Errorf("shim: start: %w", err)
	}
	h, err := p.put(ctx, exe)
	if err != nil {
		return Handle{}, errors.Join(err, os.RemoveAll(p.Dir))
	}
	return h, nil
}

// put writes p.Files and starts the shim.
func (p Params) put(ctx context.Context, exe string) (Handle, error) {
	for name, content := range p.Files {
		if filepath.Base(name) != name {
			return Handle{}, fmt.Errorf("shim: start: %q is not a file name", name)
		}
		f, err := os.OpenFile(filepath.Join(p.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return Handle{}, fmt.Errorf("shim: start: %w", err)
		}
		_, err = f.Write(content)
		if err = errors.Join(err, f.Close()); err != nil {
			return Handle{}, fmt.Errorf("shim: start: %w", err)
		}
	}
	return p.start(ctx, exe)
}

func (p Params) start(ctx context.Context, exe string) (Handle, error) {
	message, err := json.Marshal(p)
	if err != nil {
		return Handle{}, fmt.Errorf("shim: start: %w", err)
	}
	if len(message) > maxParams {
		return Handle{}, fmt.Errorf("shim: start: arguments and environment of %d bytes", len(message))
	}
	in, paramsPipe, err := os.Pipe()
	if err != nil {
		return Handle{}, fmt.Errorf("shim: start: %w", err)
	}
	defer paramsPipe.Close()
	answerPipe, out, err := os.Pipe()
	if err != nil {
		in.Close()
		return Handle{}, fmt.Errorf("shim: start: %w", err)
	}
	defer answerPipe.Close()
	// The shim needs nothing from the environment of this process.
	sys, reap := detachedAttr()
	process, err := os.StartProcess(exe, []string{exe, "shim"}, &os.ProcAttr{
		Dir: "/", Env: failpoint.Environ(), Files: []*os.File{in, out, nil}, Sys: sys,
	})
	in.Close()
	out.Close()
	if err != nil {
		return Handle{}, fmt.Errorf("shim: start: %w: %w", ErrProgram, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		reap(process) // how it ended is recorded in its folder
	}()
	stop := context.AfterFunc(ctx, func() {
		_ = paramsPipe.SetWriteDeadline(time.Unix(1, 0)) // fails only when closed
		_ = answerPipe.SetReadDeadline(time.Unix(1, 0))
	})
	defer stop()
	answer, err := p.handshake(paramsPipe, answerPipe, message)
	if err != nil {
		_ = process.Kill() // it may have ended by itself
		<-done
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if e := Clean(cleaning, p.Dir); e != nil {
			err = errors.Join(err, e)
		}
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		return Handle{}, err
	}
	return Handle{Dir: p.Dir, PID: answer.PID, CLI: answer.CLI, Done: done}, nil
}

// handshake sends the parameters to the shim and returns its answer.
func (p Params) handshake(paramsPipe, answerPipe *os.File, message []byte) (handshake, error) {
	_, writeErr := paramsPipe.Write(message)
	paramsPipe.Close()
	var answer handshake
	line, err := bufio.NewReader(answerPipe).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &answer)
	}
	switch {
	case err != nil:
		return answer, fmt.Errorf("shim: start: no answer: %w", errors.Join(err, writeErr))
	case answer.Error != nil:
		return answer, fmt.Errorf("start: %w", answer.Error.err())
	case answer.Version < oldest:
		return answer, fmt.Errorf("shim: start: %w", ErrVersion)
	}
	return answer, nil
}
