package fence

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Versioned writes rows together with the token of the writer. It is an optimistic lock: one statement changes the row
// only if its version is smaller than the token. It needs no transaction, and nobody waits.
//
// It is enough if what is written does not depend on anything that was read before: the holder of the largest token
// then writes last, and late writers are refused. It is not enough for a value that was computed from the row, since an
// older holder may still write between reading and writing: use [Do] for that.
//
// All names must be written exactly as in the database, and all writers must write the version. Nothing else may change
// the version. In particular it must not be a [Column], which would be raised without a write: Write would take that
// for a write of its own, [ErrWritten].
type Versioned struct {
	Table   string // as in "article" or "shop.article"
	Key     string // the column that identifies a row: the primary key, or another unique column
	Version string // the column of the token, a bigint; NULL counts as 0
}

// Values are the values to write, by the name of the column.
type Values map[string]any

// Write sets columns of the row with that key, and its version to the token, if the version is smaller. A lease can
// write a row only once, since its second write has an equal token. So a write whose answer was lost can be repeated:
// it is done once.
//
// Write returns [ErrStale] if the version is larger than the token, [ErrWritten] if it is equal, [ErrNoRow],
// [ErrNotUnique], and [ErrInvalid] if nothing was sent. Other errors are those of the database. Unless db is a
// transaction, the write may have taken effect after such an error. After ErrNotUnique it has taken effect, on all rows
// with that key.
func (v Versioned) Write(ctx context.Context, db Executor, key any, token uint64, values Values) error {
	if isNil(db) {
		return missing("database", "a *sql.DB, *sql.Conn, *sql.Tx or *fence.Guard")
	}
	return v.write(ctx, overSQL{db}, key, token, values)
}

func (v Versioned) write(ctx context.Context, db Statements, key any, token uint64, values Values) error {
	if key == nil {
		return missing("key", "the value of the key column")
	}
	if err := validToken(token); err != nil {
		return err
	}
	update, look, args, err := v.statements(values, token, key)
	if err != nil {
		return err
	}
	name := shortened(fmt.Sprintf("%s %v", v.Table, key))
	for range maxTries {
		rows, err := db.Exec(ctx, update, args...)
		switch {
		case err != nil:
			return fmt.Errorf("fence: writing %q: %w", name, err)
		case rows == 1:
			return nil
		case rows > 1:
			return fmt.Errorf("fence: writing %q: %w", name, ErrNotUnique)
		}
		have, found, err := db.QueryNumber(ctx, look, key)
		switch {
		case err != nil:
			return fmt.Errorf("fence: looking at the version of %q: %w", name, err)
		case !found:
			return fmt.Errorf("fence: writing %q: %w", name, ErrNoRow)
		case have > int64(token):
			return &StaleError{Name: name, Have: uint64(have), Want: token}
		case have == int64(token):
			return fmt.Errorf("fence: writing %q: %w", name, ErrWritten)
		}
		// The row has appeared between the two statements.
	}
	return fmt.Errorf("fence: the row %q comes and goes: nobody may delete it while it is in use", name)
}

// statements returns the update with its arguments, and the query for the version. The arguments first occur in the
// text in their order, because some drivers of SQLite ignore the numbers and count.
func (v Versioned) statements(values Values, token uint64, key any) (update, look string, args []any, err error) {
	tableName, k, version, err := Column{Table: v.Table, Key: v.Key, Token: v.Version}.quoted()
	if err != nil {
		return "", "", nil, err
	}
	if len(values) == 0 {
		return "", "", nil, missing("values", "at least one column to write")
	}
	var set strings.Builder
	args = []any{int64(token)}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		c, err := column("column", name)
		if err != nil {
			return "", "", nil, err
		}
		if strings.EqualFold(name, v.Key) || strings.EqualFold(name, v.Version) {
			return "", "", nil, invalid("column", name, "another than those of the key and of the version")
		}
		args = append(args, values[name])
		set.WriteString(", " + c + " = $" + strconv.Itoa(len(args)))
	}
	args = append(args, key)
	update = `UPDATE ` + tableName + ` AS t SET ` + version + ` = $1` + set.String() +
		` WHERE t.` + k + ` = $` + strconv.Itoa(len(args)) +
		` AND (t.` + version + ` IS NULL OR t.` + version + ` < $1)`
	look = `SELECT COALESCE(t.` + version + `, 0) FROM ` + tableName + ` AS t WHERE t.` + k + ` = $1`
	return update, look, args, nil
}
