package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/sayso-dev/sayso/store/storetest"
)

func BenchmarkStore(b *testing.B) {
	dir := b.TempDir()
	storetest.Benchmark(b, open(b, filepath.Join(dir, "sayso.db")), dir)
}
