package wire_test

import (
	"fmt"
	"testing"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
	"github.com/sayso-dev/sayso/wire/wiretest"
)

// BenchmarkStateOfManyRequests makes the frame of a session with 200 open requests,
// whose levels are known after the first.
func BenchmarkStateOfManyRequests(b *testing.B) {
	p := session.ProcessState{SessionID: "one", CWD: "/work/one"}
	for i := range 200 {
		r := wiretest.BashRequest()
		r.RequestID = fmt.Sprint(i)
		p.Requests = append(p.Requests, r)
	}
	b.Run("new", func(b *testing.B) {
		for range b.N {
			wiretest.NewProcessState(p)
		}
	})
	b.Run("known", func(b *testing.B) {
		known := new(decision.RiskLevels)
		tell := func(p session.ProcessState) wire.ProcessState {
			return wire.NewProcessState(b.Context(), p, access.PlaceOfProcess(p), project.NewBook(nil, nil), project.Person{}, known)
		}
		tell(p)
		b.ResetTimer()
		for range b.N {
			tell(p)
		}
	})
}
