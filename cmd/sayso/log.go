package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/sayso-dev/sayso/internal/account"
)

// newLog returns the logger, and the variable that sets its level.
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
		return slog.New(cancellationFilter{slog.NewTextHandler(stderr, options)}), now, nil
	case "json":
		return slog.New(cancellationFilter{slog.NewJSONHandler(stderr, options)}), now, nil
	}
	return nil, nil, fmt.Errorf("--log-format %s: use text or json", s.LogFormat)
}

// cancellationFilter drops records of errors caused by cancellation: the server is stopping, or
// the asker is gone.
type cancellationFilter struct{ slog.Handler }

func (h cancellationFilter) Handle(ctx context.Context, r slog.Record) error {
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

func (h cancellationFilter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return cancellationFilter{h.Handler.WithAttrs(attrs)}
}

func (h cancellationFilter) WithGroup(name string) slog.Handler {
	return cancellationFilter{h.Handler.WithGroup(name)}
}

// logIncident returns a function that logs account events and sign-ins as the audit log records
// them: without secrets, and without user names that do not exist.
func logIncident(log *slog.Logger) func(context.Context, account.Incident) {
	return func(ctx context.Context, i account.Incident) {
		attributes := []any{"event", i.What, "by", i.By.Name}
		add := func(name, value string) {
			if value != "" {
				attributes = append(attributes, name, value)
			}
		}
		add("device", i.By.Device)
		add("address", i.By.Address)
		if i.User != nil {
			add("user", i.User.Name)
		}
		add("role", string(i.Role))
		add("method", string(i.Method))
		add("credential", i.CredentialName)
		add("passkey", i.PasskeyName)
		add("why", i.Why)
		if i.Count > 1 {
			attributes = append(attributes, "count", i.Count)
		}
		level := slog.LevelInfo
		if i.By.UserID == "" && i.By.Device == "" && i.By.Address == "" { // the server itself, at its first start
			level = slog.LevelDebug
		}
		log.Log(context.WithoutCancel(ctx), level, "account", attributes...)
	}
}

func levelOf(s settings) (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		return 0, fmt.Errorf("--log-level %s: use debug, info, warn or error", s.LogLevel)
	}
	return level, nil
}
