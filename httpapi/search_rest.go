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

// searchHandlers serves the search in transcripts.
type searchHandlers struct {
	store searchStore
	guard *access.Guard
}

// Bounds of a search.
const (
	searchLength  = 500 // characters of what is searched
	foundDef      = 20  // sessions in an answer
	maxFound      = 50
	hitsOfSession = 3
	matchesRead   = 500 // at once
	indexedAtOnce = 200 // items
	indexedAtMost = 20  // steps before a search answers with what it knows
	// searchTime is how long one answer looks for more sessions. Where many matches are in few
	// sessions, or in those that the person may not see, the next answer goes on behind it.
	searchTime = time.Second
)

// getSearch finds what was said in the transcripts of the sessions that a person
// may see.
func (s *searchHandlers) getSearch(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	query := r.URL.Query()
	text := query.Get("q")
	if len([]rune(text)) > searchLength {
		return refusal.For("q", "search_too_long", "max", searchLength)
	}
	limit, err := number(query.Get("limit"), "limit", foundDef, maxFound)
	if err != nil {
		return err
	}
	before, err := number(query.Get("cursor"), "cursor", 0, wire.MaxSafeInteger)
	if err != nil {
		return err
	}
	list, err := s.search(r.Context(), session.Search{
		Words: session.SearchWords(text), Archived: query.Get("archived") == "true", Before: before, Limit: matchesRead,
	}, max(int(limit), 1), who)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *searchHandlers) search(ctx context.Context, q session.Search, most int, who account.Identity) (wire.SearchResults, error) {
	list := wire.SearchResults{Results: []wire.SearchResult{}}
	if len(q.Words) == 0 {
		return list, nil
	}
	// What was said a moment ago is found too, unless there is very much of it.
	for range indexedAtMost {
		if more, err := s.store.IndexTranscripts(ctx, indexedAtOnce); err != nil || !more {
			break // then it answers with what it knows
		}
	}
	began := time.Now()
	places := map[string]int{} // of sessions in the list; -1 for one that may not be seen
	for {
		matches, next, err := s.store.SearchTranscripts(ctx, q)
		if err != nil {
			return wire.SearchResults{}, err
		}
		for _, match := range matches {
			place, known := places[match.SessionID]
			if !known {
				found, _, err := s.guard.Session(ctx, who, project.See, match.SessionID)
				switch {
				case errors.Is(err, session.ErrNotFound):
					place = -1
				case err != nil:
					return wire.SearchResults{}, err
				default:
					place = len(list.Results)
					list.Results = append(list.Results, wire.SearchResult{
						SessionID: found.SessionID, Title: found.Title, CWD: found.CWD, Archived: found.Archived, Hits: []wire.SearchHit{},
					})
				}
				places[match.SessionID] = place
			}
			if place < 0 {
				continue
			}
			result := &list.Results[place]
			if len(result.Hits) == hitsOfSession {
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
		if len(list.Results) >= most || time.Since(began) > searchTime {
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
