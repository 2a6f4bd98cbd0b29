package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Errors of [RowLock], for errors.Is.
var (
	// ErrRowHeld says that another transaction has locked a row that the query finds or needs. Nothing was locked, and
	// the transaction can go on.
	ErrRowHeld = errors.New("postgres: another transaction holds the row: try again later, " +
		"or do something else in this transaction")

	// ErrRowWaits says that the query could wait for other transactions, or locks nothing. It was not sent.
	ErrRowWaits = errors.New("postgres: a query for RowLock must lock and not wait: end it with FOR UPDATE NOWAIT, " +
		"or with another lock of rows (FOR NO KEY UPDATE, FOR SHARE, FOR KEY SHARE), each with NOWAIT")

	// ErrNoRow says that the query found no row, so nothing was locked. It wraps pgx.ErrNoRows.
	ErrNoRow = fmt.Errorf("postgres: nothing was locked, as the query found no row: %w", pgx.ErrNoRows)
)

// RowTx is what [RowLock] needs of a transaction. A pgx.Tx has it.
type RowTx interface {
	// Begin sets a savepoint.
	Begin(ctx context.Context) (pgx.Tx, error)
}

// RowLock locks the rows that a query finds, at once or not at all, until the end of the caller's transaction. The
// query is like
//
//	SELECT FROM accounts WHERE id = $1 FOR UPDATE NOWAIT
//
// It returns ErrRowHeld if another transaction has locked one of the rows, and ErrNoRow if there is none. It returns
// ErrRowWaits, before anything is sent, if the query does not have NOWAIT for everything that it locks. After these
// errors the transaction can go on, because the query runs behind a savepoint. After any other error roll it back. The
// selected values are not returned: read them afterwards, nobody else can change them.
//
// RowLock needs no engine and no tables of the engine. The lock has neither a lease nor a token. It ends with the
// transaction, even if the connection breaks. NOWAIT is for rows only: the query still waits for a lock on the whole
// table, for as long as ctx and lock_timeout allow. If lock_timeout ends that wait, the error is ErrRowHeld.
func RowLock(ctx context.Context, tx RowTx, query string, args ...any) error {
	if !locksAtOnce(query) {
		return ErrRowWaits
	}
	savepoint, err := tx.Begin(ctx)
	if err != nil {
		return fmt.Errorf("postgres: setting a savepoint for a row lock: %w", err)
	}
	tag, err := savepoint.Exec(ctx, query, args...)
	if err == nil && tag.RowsAffected() > 0 {
		if err = savepoint.Commit(ctx); err != nil {
			return fmt.Errorf("postgres: releasing the savepoint of a row lock: %w", err)
		}
		return nil
	}
	if back := savepoint.Rollback(ctx); back != nil {
		return fmt.Errorf("postgres: going back to the savepoint of a row lock: %w", errors.Join(back, err))
	}
	switch {
	case err == nil:
		return ErrNoRow
	case sqlState(err) == lockNotAvailable:
		return fmt.Errorf("%w (%w)", ErrRowHeld, err)
	}
	return fmt.Errorf("postgres: locking a row: %w", err)
}

// sqlState is the SQLSTATE of a server's error, whichever driver returned it, or "".
func sqlState(err error) string {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return e.SQLState()
	}
	return ""
}

var (
	// noWords matches what is not part of a query's words: strings, quoted names and comments. Of a comment that may
	// contain others, and of a string between two equal tags, it matches only the beginning.
	noWords = regexp.MustCompile(`(?is)\be'(?:[^'\\]|\\.|'(?:\s*\n\s*)?')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|` +
		`/\*|\B\$(?:[a-z_]\w*)?\$`)
	commentEdge = regexp.MustCompile(`/\*|\*/`)
	rowLocks    = regexp.MustCompile(`(?i)\bfor\s+(?:no\s+key\s+update|update|key\s+share|share)\b`)
	noWaits     = regexp.MustCompile(`(?i)\bnowait\b`)
)

// locksAtOnce reports whether a query locks rows and waits for none.
func locksAtOnce(query string) bool {
	words := wordsOf(query)
	locks := len(rowLocks.FindAllString(words, -1))
	return locks > 0 && locks == len(noWaits.FindAllString(words, -1))
}

// wordsOf returns a query without its strings, quoted names and comments.
func wordsOf(query string) string {
	var words strings.Builder
	for {
		at := noWords.FindStringIndex(query)
		if at == nil {
			words.WriteString(query)
			return words.String()
		}
		words.WriteString(query[:at[0]] + " ")
		begin := query[at[0]:at[1]]
		query = query[at[1]:]
		switch {
		case begin == "/*":
			query = skipComment(query)
		case begin[0] == '$':
			_, query, _ = strings.Cut(query, begin)
		}
	}
}

// skipComment returns what follows a comment whose beginning was cut off. Comments may contain comments.
func skipComment(text string) string {
	for depth := 1; depth > 0; {
		at := commentEdge.FindStringIndex(text)
		if at == nil {
			return ""
		}
		if text[at[0]] == '/' {
			depth++
		} else {
			depth--
		}
		text = text[at[1]:]
	}
	return text
}
