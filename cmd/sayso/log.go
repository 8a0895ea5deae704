package main

import (
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
		return slog.New(slog.NewTextHandler(stderr, options)), now, nil
	case "json":
		return slog.New(slog.NewJSONHandler(stderr, options)), now, nil
	}
	return nil, nil, fmt.Errorf("--log-format %s: use text or json", s.LogFormat)
}

func levelOf(s settings) (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		return 0, fmt.Errorf("--log-level %s: use debug, info, warn or error", s.LogLevel)
	}
	return level, nil
}
