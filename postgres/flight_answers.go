package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// landed is explain for a request that was sent: unless the server has said that it failed, nobody knows what became of it, be the connection closed
// already when its answer was to be read.
func landed(err error) error {
	if _, said := errors.AsType[*pgconn.PgError](err); said || err == nil {
		return explain(err)
	}
	return fmt.Errorf("postgres: %w", err)
}

// receive takes in the row of one request, and the end of its transaction. An error that is not one of the server means that the connection is broken.
func receive(p *pgconn.Pipeline) (row [][]byte, err error) {
	var said error
	for {
		results, err := p.GetResults()
		if answer, ok := results.(*pgconn.ResultReader); ok && err == nil {
			if answer.NextRow() {
				row = cloned(answer.Values())
			}
			_, err = answer.Close()
		}
		failed, isSaid := errors.AsType[*pgconn.PgError](err)
		switch {
		case err != nil && !isSaid:
			if said != nil {
				return nil, said
			}
			return nil, err
		case isSaid:
			said = failed
			continue
		}
		switch results.(type) {
		case *pgconn.ResultReader:
		case *pgconn.PipelineSync:
			if said == nil && row == nil {
				said = errNoAnswer
			}
			return row, said
		default:
			return nil, errNoAnswer
		}
	}
}

// only takes in the one row of an answer.
func only(answer *pgconn.ResultReader) (row [][]byte, err error) {
	if answer.NextRow() {
		row = cloned(answer.Values())
	}
	if _, err := answer.Close(); err != nil {
		return nil, err
	}
	if row == nil {
		return nil, errNoAnswer
	}
	return row, nil
}

// cloned copies a row, whose memory is used again.
func cloned(row [][]byte) [][]byte {
	n := 0
	for _, v := range row {
		n += len(v)
	}
	all, copied := make([]byte, 0, n), make([][]byte, len(row))
	for i, v := range row {
		if v != nil {
			all = append(all, v...)
			copied[i] = all[len(all)-len(v) : len(all) : len(all)]
		}
	}
	return copied
}
