package postgres_test

import (
	"fmt"
	"testing"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// A search is planned for its words: a plan for any words reads every item to find a rare one.
func TestSearchIsPlannedForItsWords(t *testing.T) {
	t.Parallel()
	st := openPatient(t, postgrestest.Schema(t))
	for i := range 10 {
		_, _, err := st.SearchTranscripts(ctx, session.Search{Words: []string{fmt.Sprint("word", i)}, Limit: 5})
		must(t, err)
		_, err = st.IndexBehind(ctx) // which is prepared
		must(t, err)
	}
	for text, want := range map[string]bool{"transcript_index": false, "WHERE unindexed": true} {
		n, err := st.Prepared(ctx, text)
		must(t, err)
		if n > 0 != want {
			t.Errorf("%d statements with %s are prepared", n, text)
		}
	}
}
