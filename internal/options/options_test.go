package options_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/options"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	type all struct {
		Out  io.Writer
		File *os.File
		Do   func()
		Name string
		Map  map[string]int
		More io.Writer `optional:"true"`
	}
	var none *strings.Builder
	for name, row := range map[string]struct {
		given all
		want  string
	}{
		"everything":                 {all{Out: io.Discard, File: os.Stderr, Do: func() {}}, "<nil>"},
		"without an interface":       {all{File: os.Stderr, Do: func() {}}, "x: Options.Out is missing"},
		"an interface of no pointer": {all{Out: none, File: os.Stderr, Do: func() {}}, "x: Options.Out is missing"},
		"without a pointer":          {all{Out: io.Discard, Do: func() {}}, "x: Options.File is missing"},
		"without a function":         {all{Out: io.Discard, File: os.Stderr}, "x: Options.Do is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fmt.Sprint(options.Check("x", row.given)); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}
