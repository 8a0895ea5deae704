package postgres_test

import (
	"testing"

	"github.com/sayso-dev/sayso/store/postgrestest"
	"github.com/sayso-dev/sayso/store/storetest"
)

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, open(b, postgrestest.Schema(b)), b.TempDir())
}
