package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leasehold-go/leasehold/driver"
)

// RightsError is why a request was refused for good: the user of the database lacks rights. It is marked with [driver.Permanent].
type RightsError struct {
	// User is the user of the database.
	User string
	// Missing are the rights, as they stand in a GRANT: "INSERT ON leasehold.holders".
	Missing []string
	mend    string // what to do beside granting them
	cause   error
}

// Error implements error. It says which rights are missing, and the statements that give them.
func (e *RightsError) Error() string {
	grants := make([]string, len(e.Missing))
	for i, right := range e.Missing {
		grants[i] = "GRANT " + right + " TO " + pgx.Identifier{e.User}.Sanitize()
	}
	return fmt.Sprintf("postgres: the user %q lacks the rights %s: %s%s", e.User, strings.Join(e.Missing, ", "), strings.Join(grants, "; "), e.mend)
}

// Unwrap returns what the server has said.
func (e *RightsError) Unwrap() error { return e.cause }

// forbidden is the code of an error for lack of rights.
const forbidden = "42501"

// purpose is what rights are for. The documentation has the statements that give them.
type purpose uint8

const (
	// looking is to see who holds and waits, and to examine: it changes nothing, and shows no secret.
	looking purpose = 1 << iota
	// locking is to take, renew and release, but for latches.
	locking
	// latching is that for latches.
	latching
	// recording is to write the record of forced releases.
	recording
)

// need is a right that an engine needs.
type need struct {
	object  string // a table or a sequence
	rights  string
	columns string // if they are all that it is needed for
	purpose purpose
}

var needs = []need{
	{"meta", "SELECT", "", looking | locking},
	{"alive", "SELECT", "", looking | locking},
	{"origin", "SELECT", "", looking | locking},
	{"holders", "SELECT", "kind, name, token, mode, weight, expires, granted, holder", looking},
	{"waiters", "SELECT", "kind, name, seq, mode, weight, listener, alive_until, joined, holder", looking},
	{"latches", "SELECT", "name, generation, count, expires", looking},

	{"meta", "UPDATE", "", locking},
	{"alive", "INSERT, UPDATE", "", locking},
	{"holders", "SELECT, INSERT, UPDATE, DELETE", "", locking},
	{"waiters", "SELECT, INSERT, UPDATE, DELETE", "", locking | latching},
	{"tokens", "SELECT, UPDATE", "", locking | latching},

	// Whoever takes a lock sweeps now and then, latches too.
	{"latches", "SELECT, DELETE", "", locking | latching},
	{"latch_downs", "SELECT, DELETE", "", locking | latching},
	{"latches", "INSERT, UPDATE", "", latching},
	{"latch_downs", "INSERT", "", latching},

	{"removals", "SELECT", "", looking | recording},
	{"removals", "INSERT, UPDATE, DELETE", "", recording},
}

// asker asks for one row, or for several: a connection or a pool.
type asker interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// missing returns the rights that the user lacks for a purpose, and that others are not for. Nothing is looked up by its name as a query does, which
// would fail without a right on the schema.
func missing(ctx context.Context, c asker, schema string, of, but purpose) (all []string, err error) {
	var objects, rights, columns []string
	for _, n := range needs {
		if n.purpose&of == 0 || n.purpose&but != 0 {
			continue
		}
		for right := range strings.SplitSeq(n.rights, ", ") {
			objects, rights, columns = append(objects, n.object), append(rights, right), append(columns, n.columns)
		}
	}
	rows, err := c.Query(ctx, `SELECT 'USAGE ON SCHEMA ' || nspname FROM pg_catalog.pg_namespace
	WHERE nspname = $1::text AND $6::boolean AND NOT has_schema_privilege(oid, 'USAGE')
UNION ALL
SELECT string_agg(wanted, ', ' ORDER BY i) || CASE columns WHEN '' THEN '' ELSE ' (' || columns || ')' END || CASE relkind WHEN 'S' THEN ' ON SEQUENCE ' ELSE ' ON ' END || $1::text || '.' || object
	FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS n (object, wanted, columns, i) JOIN pg_catalog.pg_class r ON relname = object
	WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1::text)
		AND NOT CASE
			WHEN relkind = 'S' THEN has_sequence_privilege(r.oid, wanted)
			WHEN columns <> '' THEN (SELECT bool_and(has_column_privilege(r.oid, c, wanted)) FROM unnest(string_to_array(columns, ', ')) AS c)
			ELSE has_table_privilege(r.oid, wanted) END
	GROUP BY object, columns, relkind
UNION ALL
SELECT 'EXECUTE ON FUNCTION ' || $1::text || '.' || proname FROM pg_catalog.pg_proc
	WHERE pronamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1::text) AND NOT has_function_privilege(oid, 'EXECUTE')
		AND $6::boolean AND ($5::boolean OR proname = 'here')`, schema, objects, rights, columns, of != looking, but == 0)
	if err != nil {
		return nil, err
	}
	all, err = pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("which rights are missing: %w", err)
	}
	slices.Sort(all)
	return all, nil
}

// lacking makes an error of one for lack of rights that says which, as far as that can be found out.
func (e *Engine) lacking(ctx context.Context, of purpose, err error) error {
	if said, ok := errors.AsType[*pgconn.PgError](err); !ok || said.Code != forbidden || !driver.IsPermanent(err) {
		return err
	}
	for _, of := range []purpose{of, locking, latching, recording} {
		rights, failed := missing(ctx, e.pool, e.schema, of, 0)
		if failed != nil {
			return err
		}
		if len(rights) > 0 {
			return refused(e.pool.Config().ConnConfig.User, rights, "", err)
		}
	}
	return err
}

// refused is an error for lack of rights.
func refused(user string, rights []string, mend string, cause error) error {
	return driver.Permanent(&RightsError{User: user, Missing: rights, mend: mend, cause: cause})
}
