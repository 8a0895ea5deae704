package migrations_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/migrations"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What the steps do to a database is tested with the engines.

func TestEachNumberHasBothDialects(t *testing.T) {
	t.Parallel()
	lite, err := migrations.All(migrations.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	post, err := migrations.All(migrations.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	if len(lite) != len(post) || len(lite) == 0 {
		t.Fatalf("%d steps for SQLite and %d for PostgreSQL", len(lite), len(post))
	}
	for i := range lite {
		if lite[i].Number != post[i].Number || lite[i].Name != post[i].Name || i > 0 && lite[i].Number <= lite[i-1].Number {
			t.Errorf("step %d is %d %s for SQLite and %d %s for PostgreSQL",
				i+1, lite[i].Number, lite[i].Name, post[i].Number, post[i].Name)
		}
		if lite[i].Checksum == post[i].Checksum || len(lite[i].Checksum) != 64 {
			t.Errorf("checksums of step %d: %q and %q", i+1, lite[i].Checksum, post[i].Checksum)
		}
	}
}

func TestUnknownDialect(t *testing.T) {
	t.Parallel()
	if err := migrations.Apply(context.Background(), nil, "oracle"); err == nil {
		t.Fatal("applied a dialect that there is none of")
	}
}
