package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// newLog makes the log, and what its level can be changed with.
func newLog(s settings, stderr io.Writer) (*slog.Logger, *slog.LevelVar, error) {
	level, err := levelOf(s)
	if err != nil {
		return nil, nil, err
	}
	now := &slog.LevelVar{}
	now.Set(level)
	options := &slog.HandlerOptions{Level: now}
	switch s.LogFormat {
	case "text":
		return slog.New(worthALine{slog.NewTextHandler(stderr, options)}), now, nil
	case "json":
		return slog.New(worthALine{slog.NewJSONHandler(stderr, options)}), now, nil
	}
	return nil, nil, fmt.Errorf("--log-format %s: use text or json", s.LogFormat)
}

// worthALine drops records of what failed only because it was called off: the server
// stops, or who asked has gone away.
type worthALine struct{ slog.Handler }

func (h worthALine) Handle(ctx context.Context, r slog.Record) error {
	if ctx.Err() != nil {
		calledOff := false
		r.Attrs(func(a slog.Attr) bool {
			err, isError := a.Value.Any().(error)
			calledOff = isError && errors.Is(err, context.Canceled)
			return !calledOff
		})
		if calledOff {
			return nil
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (h worthALine) WithAttrs(attrs []slog.Attr) slog.Handler {
	return worthALine{h.Handler.WithAttrs(attrs)}
}

func (h worthALine) WithGroup(name string) slog.Handler {
	return worthALine{h.Handler.WithGroup(name)}
}

func levelOf(s settings) (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		return 0, fmt.Errorf("--log-level %s: use debug, info, warn or error", s.LogLevel)
	}
	return level, nil
}
