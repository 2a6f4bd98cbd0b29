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

// RightsError says that a request was refused because the user of the database lacks rights. It is marked with
// [driver.Permanent].
type RightsError struct {
	// User is the user of the database.
	User string
	// Missing are the missing rights as a GRANT has them: "INSERT ON leasehold.holders".
	Missing []string
	fix     string // what else to do besides granting them
	cause   error
}

// Error implements error. It names the missing rights and the statements that grant them.
func (e *RightsError) Error() string {
	grants := make([]string, len(e.Missing))
	for i, right := range e.Missing {
		grants[i] = "GRANT " + right + " TO " + pgx.Identifier{e.User}.Sanitize()
	}
	return fmt.Sprintf("postgres: the user %q lacks the rights %s: %s%s",
		e.User, strings.Join(e.Missing, ", "), strings.Join(grants, "; "), e.fix)
}

// Unwrap returns what the server has answered.
func (e *RightsError) Unwrap() error { return e.cause }

// insufficientRights is the SQLSTATE of an error for lack of rights.
const insufficientRights = "42501"

// purpose is what rights are needed for. The documentation has the statements that grant them.
type purpose uint8

const (
	// toLook is to list holders and waiters, and to examine. It changes nothing, and shows no secret.
	toLook purpose = 1 << iota
	// toLock is to take, renew and release everything but latches.
	toLock
	// toLatch is to change latches.
	toLatch
	// toStore is to store data under the names of locks.
	toStore
	// toRecord is to write the records of forced releases.
	toRecord
)

// need is a right that an engine needs.
type need struct {
	object  string // a table or a sequence
	rights  string
	columns string // only these columns are needed
	purpose purpose
}

var needs = []need{
	{"meta", "SELECT", "", toLook | toLock},
	{"alive", "SELECT", "", toLook | toLock},
	{"origin", "SELECT", "", toLook | toLock},
	{"holders", "SELECT", "kind, name, token, mode, weight, expires, granted, holder", toLook},
	{"waiters", "SELECT", "kind, name, seq, mode, weight, listener, alive_until, joined, holder", toLook},
	{"latches", "SELECT", "name, generation, count, expires", toLook},

	{"meta", "UPDATE", "", toLock},
	{"alive", "INSERT, UPDATE", "", toLock},
	{"holders", "SELECT, INSERT, UPDATE, DELETE", "", toLock},
	{"waiters", "SELECT, INSERT, UPDATE, DELETE", "", toLock | toLatch},
	{"tokens", "SELECT, UPDATE", "", toLock | toLatch},

	// Grants clean up expired rows now and then, including those of latches.
	{"latches", "SELECT, DELETE", "", toLock | toLatch},
	{"latch_downs", "SELECT, DELETE", "", toLock | toLatch},
	{"latches", "INSERT, UPDATE", "", toLatch},
	{"latch_downs", "INSERT", "", toLatch},

	{"data", "SELECT", "", toLook | toStore},
	{"data", "INSERT, UPDATE", "", toStore},

	{"removals", "SELECT", "", toLook | toRecord},
	{"removals", "INSERT, UPDATE, DELETE", "", toRecord},
}

// queryer runs queries: a connection or a pool.
type queryer interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// missingRights returns the rights that the user lacks for a purpose, without those that another purpose needs too. No
// object is looked up by name as a query would do it, because that fails without a right on the schema.
func missingRights(ctx context.Context, c queryer, schema string, of, but purpose) (all []string, err error) {
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
SELECT string_agg(wanted, ', ' ORDER BY i) || CASE columns WHEN '' THEN '' ELSE ' (' || columns || ')' END ||
		CASE relkind WHEN 'S' THEN ' ON SEQUENCE ' ELSE ' ON ' END || $1::text || '.' || object
	FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS n (object, wanted, columns, i)
		JOIN pg_catalog.pg_class r ON relname = object
	WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1::text)
		AND NOT CASE
			WHEN relkind = 'S' THEN has_sequence_privilege(r.oid, wanted)
			WHEN columns <> '' THEN (SELECT bool_and(has_column_privilege(r.oid, c, wanted))
				FROM unnest(string_to_array(columns, ', ')) AS c)
			ELSE has_table_privilege(r.oid, wanted) END
	GROUP BY object, columns, relkind
UNION ALL
SELECT 'EXECUTE ON FUNCTION ' || $1::text || '.' || proname FROM pg_catalog.pg_proc
	WHERE pronamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1::text)
		AND NOT has_function_privilege(oid, 'EXECUTE') AND $6::boolean AND ($5::boolean OR proname = 'here')`,
		schema, objects, rights, columns, of != toLook, but == 0)
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

// explainMissingRight turns an error for lack of rights into one that names the missing rights, if they can be found
// out.
func (e *Engine) explainMissingRight(ctx context.Context, of purpose, err error) error {
	answered, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || answered.Code != insufficientRights || !driver.IsPermanent(err) {
		return err
	}
	for _, of := range []purpose{of, toLock, toLatch, toRecord} {
		rights, failed := missingRights(ctx, e.pool, e.schema, of, 0)
		if failed != nil {
			return err
		}
		if len(rights) > 0 {
			return newRightsError(e.pool.Config().ConnConfig.User, rights, "", err)
		}
	}
	return err
}

// newRightsError is an error for lack of rights.
func newRightsError(user string, rights []string, fix string, cause error) error {
	return driver.Permanent(&RightsError{User: user, Missing: rights, fix: fix, cause: cause})
}
