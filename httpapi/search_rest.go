package httpapi

import (
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

// searchStore holds what searchHandlers reads and writes.
type searchStore interface {
	IndexTranscripts(ctx context.Context, most int) (more bool, err error)
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
	itemsPerIndexStep = 200 // in one step
	maxIndexSteps     = 20  // before a search uses the index as it is
	// maxSearchTime bounds how long one response searches. If few visible sessions
	// match by then, the response has a cursor to continue.
	maxSearchTime = time.Second
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

func (s *searchHandlers) search(ctx context.Context, q session.Search, limit int, who account.Identity) (wire.SearchResults, error) {
	list := wire.SearchResults{Results: []wire.SearchResult{}}
	if len(q.Words) == 0 {
		return list, nil
	}
	// Index new items first, unless there are very many.
	for range maxIndexSteps {
		if more, err := s.store.IndexTranscripts(ctx, itemsPerIndexStep); err != nil || !more {
			break // search what is indexed
		}
	}
	started := time.Now()
	indexes := map[string]int{} // index in list.Results; -1 for sessions that the person may not see
	for {
		matches, next, err := s.store.SearchTranscripts(ctx, q)
		if err != nil {
			return wire.SearchResults{}, err
		}
		for _, match := range matches {
			index, known := indexes[match.SessionID]
			if !known {
				found, _, err := s.guard.Session(ctx, who, project.See, match.SessionID)
				switch {
				case errors.Is(err, session.ErrNotFound):
					index = -1
				case err != nil:
					return wire.SearchResults{}, err
				default:
					index = len(list.Results)
					list.Results = append(list.Results, wire.SearchResult{
						SessionID: found.SessionID, Title: found.Title, CWD: found.CWD, Archived: found.Archived, Hits: []wire.SearchHit{},
					})
				}
				indexes[match.SessionID] = index
			}
			if index < 0 {
				continue
			}
			result := &list.Results[index]
			if len(result.Hits) == maxHitsPerSession {
				result.More = true
				continue
			}
			item, err := s.store.MatchedItem(ctx, match.ID)
			if errors.Is(err, session.ErrNotFound) {
				continue // deleted meanwhile
			}
			if err != nil {
				return wire.SearchResults{}, err
			}
			result.Hits = append(result.Hits, wire.SearchHit{
				Seq: item.Seq, Key: item.Key, Kind: item.Kind, At: wire.Seconds(item.At),
				Excerpt: session.Excerpt(session.TextOf(item), q.Words),
			})
		}
		if next == 0 {
			break
		}
		q.Before = next
		if len(list.Results) >= limit || time.Since(started) > maxSearchTime {
			cursor := strconv.FormatInt(next, 10)
			list.Next = &cursor
			break
		}
	}
	list.Results = slices.DeleteFunc(list.Results, func(r wire.SearchResult) bool { return len(r.Hits) == 0 })
	slices.SortStableFunc(list.Results, func(a, b wire.SearchResult) int {
		switch {
		case a.Hits[0].At > b.Hits[0].At:
			return -1
		case a.Hits[0].At < b.Hits[0].At:
			return 1
		}
		return 0
	})
	return list, nil
}
