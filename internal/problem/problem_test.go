package problem_test

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/problem"
)

func TestErrorMessage(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*problem.Error{
		"A password needs at least 12 characters. A few unrelated words work well.": problem.New("password_too_short", "min", 12),
		"Only Ada can answer in api.":                  problem.New("answer_restricted", "people", []string{"Ada"}, "project", "api"),
		"Only Ada, Bo and Cy can answer in api.":       problem.New("answer_restricted", "people", []string{"Ada", "Bo", "Cy"}, "project", "api"),
		"“a” is 24.5 MB. A file can have up to 24 MB.": problem.New("attachment_too_large", "name", "a", "size", 24.5, "max", float64(24)),
		"Sessions of Ada are limited to $5.00 a day and have cost $0.0312 today. Claude continues at 00:00 UTC or when an admin raises the limit.": problem.New("limit_person_cost", "person", "Ada", "max", 5.0, "used", 0.0312),
	} {
		if e.Message != want {
			t.Errorf("got %q, want %q", e.Message, want)
		}
	}
}

// TestParameterIsNotATemplate holds a value with braces to what it is: text.
func TestParameterIsNotATemplate(t *testing.T) {
	t.Parallel()
	if got := problem.New("start_restricted", "people", []string{"{project}"}, "project", "api").Message; got != "Only {project} can start sessions in api." {
		t.Errorf("got %q", got)
	}
}

func TestErrorsIsAndAs(t *testing.T) {
	t.Parallel()
	cause := io.ErrUnexpectedEOF
	err := fmt.Errorf("account: create: %w", problem.For("name", "user_name_taken").WithCause(cause))
	if !errors.Is(err, problem.Invalid) || errors.Is(err, problem.Forbidden) || !errors.Is(err, cause) {
		t.Errorf("%v: is of the wrong class, or hides its cause", err)
	}
	if want := "account: create: This user name is taken. Choose another one. (unexpected EOF)"; err.Error() != want {
		t.Errorf("the log says %q, want %q", err, want)
	}
	if want := "This user name is taken. Choose another one."; problem.Message(err) != want {
		t.Errorf("people read %q, want %q", problem.Message(err), want)
	}
	if got := problem.Message(cause); got != "" {
		t.Errorf("people read %q of an error that is not for them", got)
	}
}

func TestIn(t *testing.T) {
	t.Parallel()
	var got *problem.Error
	if err := problem.InField("cwd", problem.New("folder_missing")); !errors.As(err, &got) || got.Field != "cwd" {
		t.Errorf("got %+v, want the field cwd", err)
	}
	if err := problem.InField("cwd", problem.For("prefix", "folder_missing")); !errors.As(err, &got) || got.Field != "prefix" {
		t.Errorf("got %+v, want the field prefix", err)
	}
	if err := problem.InField("cwd", io.EOF); !reflect.DeepEqual(err, io.EOF) {
		t.Errorf("got %v, want io.EOF", err)
	}
}

// TestTable holds every entry to a form of its own, and every text to sentences.
func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range problem.Entries() {
		if seen[e.Reason] || !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(e.Reason) {
			t.Errorf("the reason %q is in the table twice, or is no word", e.Reason)
		}
		seen[e.Reason] = true
		if e.Class == nil || e.Class.Status < 400 || !strings.HasSuffix(e.Text, ".") {
			t.Errorf("%s: no class, or %q is no sentence", e.Reason, e.Text)
		}
	}
}
