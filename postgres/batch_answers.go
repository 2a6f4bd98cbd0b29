package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// explainSent is explain for a request that was sent. Unless the server has answered with an error, the outcome is
// unknown, even if the connection was already closed when the answer was to be read.
func explainSent(err error) error {
	if _, answered := errors.AsType[*pgconn.PgError](err); answered || err == nil {
		return explain(err)
	}
	return fmt.Errorf("postgres: %w", err)
}

// readReply reads the row of one request of a pipeline, and the end of its transaction. An error that does not come
// from the server means that the connection is broken.
func readReply(p *pgconn.Pipeline) (row [][]byte, err error) {
	var serverErr error
	for {
		results, err := p.GetResults()
		if answer, ok := results.(*pgconn.ResultReader); ok && err == nil {
			if answer.NextRow() {
				row = copyRow(answer.Values())
			}
			_, err = answer.Close()
		}
		failed, answered := errors.AsType[*pgconn.PgError](err)
		switch {
		case err != nil && !answered:
			if serverErr != nil {
				return nil, serverErr
			}
			return nil, err
		case answered:
			serverErr = failed
			continue
		}
		switch results.(type) {
		case *pgconn.ResultReader:
		case *pgconn.PipelineSync:
			if serverErr == nil && row == nil {
				serverErr = errNoAnswer
			}
			return row, serverErr
		default:
			return nil, errNoAnswer
		}
	}
}

// readOneRow reads an answer of exactly one row.
func readOneRow(answer *pgconn.ResultReader) (row [][]byte, err error) {
	if answer.NextRow() {
		row = copyRow(answer.Values())
	}
	if _, err := answer.Close(); err != nil {
		return nil, err
	}
	if row == nil {
		return nil, errNoAnswer
	}
	return row, nil
}

// copyRow copies a row, because pgx reuses its memory.
func copyRow(row [][]byte) [][]byte {
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
