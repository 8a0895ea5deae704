package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// The anchors: the time that this machine needs for the unavoidable hops between two processes,
// measured with the same gap.

var kilobyte = strings.Repeat("x", 1023)

func pipeEcho(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
}

func pipeRoundTrips(ctx context.Context, s settings) ([]time.Duration, error) {
	cmd := exec.CommandContext(ctx, s.self, "pipe-echo")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	took, err := timeSpaced(func() error {
		if _, err := io.WriteString(in, kilobyte+"\n"); err != nil {
			return err
		}
		_, err := lines.ReadBytes('\n')
		return err
	})
	if err != nil {
		return nil, err
	}
	in.Close()
	return took, cmd.Wait()
}

// webSocketEcho prints its address and echoes until its input ends.
func webSocketEcho(in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // ends with the program
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, message, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, message) != nil {
				return
			}
		}
	}))
	fmt.Fprintln(out, l.Addr())
	_, err = io.Copy(io.Discard, in)
	return err
}

func webSocketRoundTrips(ctx context.Context, s settings) ([]time.Duration, error) {
	cmd := exec.CommandContext(ctx, s.self, "websocket-echo")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, err
	}
	c, _, err := websocket.Dial(ctx, "ws://"+strings.TrimSpace(address), nil)
	if err != nil {
		return nil, err
	}
	took, err := timeSpaced(func() error {
		if err := c.Write(ctx, websocket.MessageText, []byte(kilobyte)); err != nil {
			return err
		}
		_, _, err := c.Read(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.CloseNow()
	in.Close()
	return took, cmd.Wait()
}

func syncedWrites(context.Context, settings) ([]time.Duration, error) {
	folder, err := os.MkdirTemp("", "sayso-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	f, err := os.Create(filepath.Join(folder, "file"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	page := make([]byte, 4096)
	return timeSpaced(func() error {
		if _, err := f.Write(page); err != nil {
			return err
		}
		return syncData(f)
	})
}

// timeSpaced times do repeatedly, with the gap after each call.
func timeSpaced(do func() error) ([]time.Duration, error) {
	const warmUp = 10
	took := make([]time.Duration, 0, samples)
	for n := range samples + warmUp {
		started := time.Now()
		if err := do(); err != nil {
			return nil, err
		}
		if n >= warmUp {
			took = append(took, time.Since(started))
		}
		time.Sleep(gap)
	}
	return took, nil
}

func percentile(all []time.Duration, p int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func header(names ...string) {
	fmt.Printf("| %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---:|", len(names)-1))
}
