package sqlite

import (
	"database/sql"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

const (
	// tokenStep is how many tokens one flush of the disk allows, and how many are skipped at most when the machine
	// restarts.
	tokenStep = 1_000_000

	// maxTokens is how many tokens a grant has at most.
	maxTokens = 10_000
)

// issueTokens issues n tokens in a row and returns the first.
func (e *Engine) issueTokens(v *view, n int) (first int64, err error) {
	var last int64
	err = v.row([]any{&last}, `
		UPDATE meta SET last = last + ?1
		WHERE last >= 0 AND last + ?1 <= min(mark, ?3) AND boot = ?2
		RETURNING last`, n, e.clock.boot, int64(driver.MaxToken))
	if errors.Is(err, sql.ErrNoRows) {
		return 0, e.tokenError(v)
	}
	if err != nil {
		return 0, err
	}
	first = last - int64(n) + 1
	if last/sweepEvery != (first-1)/sweepEvery {
		err = removeExpiredRows(v)
	}
	return first, err
}

// tokenError returns why no token could be issued.
func (e *Engine) tokenError(v *view) error {
	var boot string
	var last int64
	switch err := v.row([]any{&boot, &last}, "SELECT boot, last FROM meta"); {
	case errors.Is(err, sql.ErrNoRows):
		return errMeta
	case err != nil:
		return err
	case boot != e.clock.boot:
		return errBoot
	case last < 0:
		return errLast
	}
	return errTokenMarkReached
}

// raiseTokenMark allows more tokens. It must be flushed to disk before they are issued.
func raiseTokenMark(v *view) error {
	changed, err := v.exec(`
		UPDATE meta SET mark = max(mark, last + ?1)
		WHERE last + 2 * ?1 <= ?2`, tokenStep, int64(driver.MaxToken))
	if err != nil || changed > 0 {
		return err
	}
	var rows int
	if err := v.row([]any{&rows}, "SELECT count(*) FROM meta"); err != nil {
		return err
	}
	if rows == 0 {
		return errMeta
	}
	return errSpent
}
