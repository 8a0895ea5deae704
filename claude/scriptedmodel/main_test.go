package scriptedmodel_test

import (
	"testing"

	"github.com/sayso-dev/sayso/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }
