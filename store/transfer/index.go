package transfer

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/session"
)

// indexTable is the index for searches, which has a row for each row of transcript_words.
const indexTable = "transcript_index"

// indexRows is the number of items that one transaction indexes.
const indexRows = 500

// buildIndex indexes the words of the copied transcripts. It keeps the numbers of the source, because
// a search lists the highest first.
func (c *copying) buildIndex(ctx context.Context) error {
	done, err := c.load(ctx, indexTable)
	if err != nil || done.done {
		return err
	}
	var total int64
	if err := c.to.DB.QueryRowContext(ctx, "SELECT count(*) FROM transcript_words").Scan(&total); err != nil {
		return err
	}
	columns, wrap := []string{"rowid", "words"}, map[string]string(nil)
	if c.to.Dialect == migrations.Postgres {
		columns, wrap = []string{"word_id", "words"}, map[string]string{"words": "array_to_tsvector(%s::text[])"}
	}
	last := int64(0)
	if done.key != "" {
		if last, err = strconv.ParseInt(done.key, 10, 64); err != nil {
			return err
		}
	}
	for !done.done {
		rows, err := c.unindexed(ctx, last)
		if err != nil {
			return err
		}
		done.done = len(rows) < indexRows
		done.rows += int64(len(rows))
		if len(rows) > 0 {
			last = rows[len(rows)-1][0].(int64)
		}
		done.key = strconv.FormatInt(last, 10)
		if err := c.write(ctx, func(tx *sql.Tx) error {
			if c.to.Dialect == migrations.SQLite {
				for _, row := range rows {
					// One row per statement: with many rows, it would be as large as all their words.
					if err := c.to.insert(ctx, tx, indexTable, columns, nil, [][]any{row}); err != nil {
						return err
					}
				}
			} else if err := c.to.insert(ctx, tx, indexTable, columns, wrap, rows); err != nil {
				return err
			}
			return c.store(ctx, tx, indexTable, done)
		}); err != nil {
			return err
		}
		c.report(Progress{Indexing, indexTable, done.rows, total})
	}
	var indexed int64
	if err := c.to.DB.QueryRowContext(ctx, "SELECT count(*) FROM "+indexTable).Scan(&indexed); err != nil {
		return err
	}
	if indexed != total {
		return fmt.Errorf("%w: %d of %d items are indexed", ErrDiffers, indexed, total)
	}
	return nil
}

// unindexed returns the next rows of the index, after a number.
func (c *copying) unindexed(ctx context.Context, after int64) (index [][]any, err error) {
	rows, err := c.to.DB.QueryContext(ctx, `SELECT w.word_id, t.kind, t.body FROM transcript_words w
		LEFT JOIN transcript t ON t.session_id = w.session_id AND t.key = w.key
		WHERE w.word_id > `+c.to.placeholders()(1)+` ORDER BY w.word_id LIMIT `+strconv.Itoa(indexRows), after)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var kind sql.NullString
		var body []byte
		if err := rows.Scan(&id, &kind, &body); err != nil {
			return nil, err
		}
		words := session.Words(session.TextOf(session.Item{Kind: session.ItemKind(kind.String), Body: body}))
		if c.to.Dialect == migrations.SQLite {
			index = append(index, []any{id, strings.Join(words, " ")})
			continue
		}
		if words == nil {
			words = []string{}
		}
		index = append(index, []any{id, words})
	}
	return index, rows.Err()
}
