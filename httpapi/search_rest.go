package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// searchStore holds what searchHandlers reads.
type searchStore interface {
	IndexBehind(ctx context.Context) (bool, error)
	SearchTranscripts(ctx context.Context, q session.Search) (matches []session.Match, next int64, err error)
	MatchedItem(ctx context.Context, id int64) (session.Item, error)
}

// searchHandlers serves the full-text search of transcripts.
type searchHandlers struct {
	store searchStore
	guard *access.Guard
}

// Limits of a search.
const (
	maxQueryLength    = 500 // characters of the query
	defaultResults    = 20  // sessions in a response
	maxResults        = 50
	maxHitsPerSession = 3
	matchesPerRead    = 500 // in one read
	// Bounds of the work for one response. At a bound, the response is incomplete and has a
	// cursor to continue.
	maxSearchTime = time.Second
	maxMatches    = 10_000
)

// getSearch searches the transcripts of the sessions that a person may see.
func (s *searchHandlers) getSearch(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	query := r.URL.Query()
	text := query.Get("q")
	if len([]rune(text)) > maxQueryLength {
		return refusal.For("q", "search_too_long", "max", maxQueryLength)
	}
	limit, err := queryNumber(query.Get("limit"), "limit", defaultResults, maxResults)
	if err != nil {
		return err
	}
	before, err := queryNumber(query.Get("cursor"), "cursor", 0, wire.MaxSafeInteger)
	if err != nil {
		return err
	}
	list, err := s.search(r.Context(), session.Search{
		Words: session.SearchWords(text), Archived: query.Get("archived") == "true", Before: before, Limit: matchesPerRead,
	}, max(int(limit), 1), who)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

// search reads matches, newest first, until it has found enough sessions or reaches a bound on
// the work. It ends with ctx.
func (s *searchHandlers) search(ctx context.Context, q session.Search, limit int, who account.Identity) (wire.SearchResults, error) {
	list := wire.SearchResults{Results: []wire.SearchResult{}}
	if len(q.Words) == 0 {
		return list, nil
	}
	limited, cancel := context.WithTimeout(ctx, maxSearchTime)
	defer cancel()
	var err error
	if list.Indexing, err = s.store.IndexBehind(ctx); err != nil {
		return wire.SearchResults{}, err
	}
	left := maxMatches
	indexes := map[string]int{} // index in list.Results; -1 for sessions that the person may not see
	for done := false; !done; {
		var matches []session.Match
		var next int64
		matches, next, err = s.store.SearchTranscripts(limited, q)
		for _, match := range matches {
			if err = s.add(limited, &list, indexes, match, q.Words, who); err != nil {
				break
			}
			q.Before = match.ID
			left--
		}
		switch {
		case err != nil && limited.Err() != nil && ctx.Err() == nil, err == nil && next > 0 && left <= 0:
			list.Incomplete, done = true, true
		case err != nil:
			return wire.SearchResults{}, err
		default:
			done = next == 0 || len(list.Results) >= limit
		}
		if done && q.Before > 0 && (next > 0 || err != nil) {
			cursor := strconv.FormatInt(q.Before, 10)
			list.Next = &cursor
		}
	}
	list.Results = slices.DeleteFunc(list.Results, func(r wire.SearchResult) bool { return len(r.Hits) == 0 })
	slices.SortStableFunc(list.Results, func(a, b wire.SearchResult) int { return cmp.Compare(b.Hits[0].At, a.Hits[0].At) })
	return list, nil
}

// add adds a match to the list, unless the person may not see its session or the list already
// has enough matches of that session.
func (s *searchHandlers) add(ctx context.Context, list *wire.SearchResults, indexes map[string]int, match session.Match, words []string, who account.Identity) error {
	index, known := indexes[match.SessionID]
	if !known {
		found, _, err := s.guard.Session(ctx, who, project.See, match.SessionID)
		switch {
		case errors.Is(err, session.ErrNotFound):
			index = -1
		case err != nil:
			return err
		default:
			index = len(list.Results)
			list.Results = append(list.Results, wire.SearchResult{
				SessionID: found.SessionID, Title: found.Title, CWD: found.CWD, Archived: found.Archived, Hits: []wire.SearchHit{},
			})
		}
		indexes[match.SessionID] = index
	}
	if index < 0 {
		return nil
	}
	result := &list.Results[index]
	if len(result.Hits) == maxHitsPerSession {
		result.More = true
		return nil
	}
	item, err := s.store.MatchedItem(ctx, match.ID)
	if errors.Is(err, session.ErrNotFound) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	result.Hits = append(result.Hits, wire.SearchHit{
		Seq: item.Seq, Key: item.Key, Kind: item.Kind, At: wire.Seconds(item.At),
		Excerpt: session.Excerpt(session.TextOf(item), words),
	})
	return nil
}
