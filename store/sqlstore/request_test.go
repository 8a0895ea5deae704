package sqlstore

import (
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/migrations"
)

// TestNullableColumns compares the columns marked as nullable with the schema. A column marked
// wrongly could not be scanned after an outer join.
func TestNullableColumns(t *testing.T) {
	schema := migrations.Columns()
	for _, c := range requestColumns {
		i := slices.IndexFunc(schema, func(line string) bool { return strings.HasPrefix(line, "requests."+c.name+" ") })
		if i < 0 {
			t.Errorf("no column %s", c.name)
			continue
		}
		if nullable := strings.HasSuffix(schema[i], " null"); nullable != c.nullable {
			t.Errorf("%s: nullable is %t, want %t", c.name, c.nullable, nullable)
		}
	}
}
