package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leasehold-go/leasehold/driver"
)

// DefaultSchema is where the tables are, unless WithSchema or the parameter schema says otherwise.
const DefaultSchema = "leasehold"

//go:embed migrations/*.sql
var files embed.FS

// plainSchema is what a schema may be called.
var plainSchema = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

const allowedSchema = "1 to 40 of the letters a to z, digits and underscores, without a digit in front"

// migrations returns the texts of the files, in their order: the first has the number 1.
func migrations(schema string) (texts []string, err error) {
	if !plainSchema.MatchString(schema) || strings.HasPrefix(schema, "pg_") {
		return nil, fmt.Errorf("postgres: the schema %q is not allowed: it must be %s, and not begin with pg_", schema, allowedSchema)
	}
	list, err := files.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		text, err := files.ReadFile("migrations/" + f.Name())
		if err != nil {
			return nil, err
		}
		texts = append(texts, inSchema(schema, string(text)))
	}
	return texts, nil
}

// inSchema moves a text from the default schema to another one.
func inSchema(schema, text string) string {
	text = strings.ReplaceAll(text, DefaultSchema+".", quoted(schema)+".")
	return strings.ReplaceAll(text, "CREATE SCHEMA "+DefaultSchema, "CREATE SCHEMA "+quoted(schema))
}

// quoted is the name of a schema in a statement. Without quotes some would be key words, such as user.
func quoted(schema string) string {
	if schema == DefaultSchema {
		return schema
	}
	return `"` + schema + `"`
}

// SQL returns the statements that make the tables and functions in an empty schema, for those who run migrations themselves: they are to be run in one
// transaction, once. Programs open the engine with migrate=off then. It panics if the schema has a name that is not allowed:
// 1 to 40 of the letters a to z, digits and underscores, without a digit in front.
func SQL(schema string) string {
	texts, err := migrations(schema)
	if err != nil {
		panic(err)
	}
	return strings.Join(texts, "\n") + "\n" + setVersion(schema, len(texts)) + ";\n"
}

func setVersion(schema string, version int) string {
	return fmt.Sprintf("UPDATE %s.meta SET version = %d", quoted(schema), version)
}

// Beginner begins a transaction: a *pgx.Conn or a *pgxpool.Pool.
type Beginner interface {
	BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error)
}

// Migrate makes the tables and functions in the schema, or brings them up to date. It does nothing if they are. Many programs may call it at the same
// time. All is done in one transaction. Its errors are marked with [driver.NoEffect], or with [driver.Permanent] if another attempt is pointless: the tables
// are those of a newer version of this package, rights are missing, or the database is not one of UTF-8.
func Migrate(ctx context.Context, db Beginner, schema string) error {
	texts, err := migrations(schema)
	if err != nil {
		return driver.Permanent(err)
	}
	err = migrate(ctx, db, schema, texts)
	if err != nil && !driver.HadNoEffect(err) {
		// What is done twice is done once.
		return noEffect(mayNotMake(ctx, db, schema, explain(fmt.Errorf("looking for the tables, or making them: %w", err))))
	}
	return err
}

// mayNotMake makes an error of one for lack of rights that says which.
func mayNotMake(ctx context.Context, db Beginner, schema string, err error) error {
	if said, ok := errors.AsType[*pgconn.PgError](err); !ok || said.Code != forbidden {
		return err
	}
	tx, failed := db.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if failed != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // it has changed nothing
	var user, right string
	failed = tx.QueryRow(ctx, `SELECT current_user, CASE
	WHEN EXISTS (SELECT FROM pg_catalog.pg_class r WHERE r.relname = 'meta' AND r.relnamespace = n.oid) THEN 'OWNER'
	WHEN n.oid IS NOT NULL THEN concat_ws(', ', CASE WHEN NOT has_schema_privilege(n.oid, 'USAGE') THEN 'USAGE' END,
		CASE WHEN NOT has_schema_privilege(n.oid, 'CREATE') THEN 'CREATE' END) || ' ON SCHEMA ' || quote_ident($1::text)
	ELSE 'CREATE ON DATABASE ' || quote_ident(current_database()) END
	FROM (SELECT) AS one LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = $1::text`, schema).Scan(&user, &right)
	switch {
	case failed != nil:
		return err
	case right == "OWNER":
		return driver.Permanent(fmt.Errorf("%w: the tables in the schema %s are to be changed by the user who has made them: let one of his programs take a lock, or run postgres.Migrate as that user", err, schema))
	}
	return refused(user, []string{right}, "; or let a user take the first lock who may make the tables", err)
}

func migrate(ctx context.Context, db Beginner, schema string, texts []string) error {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // does nothing after Commit
	at, err := versionOf(ctx, tx, schema)
	if err != nil || at == len(texts) {
		return err
	}
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('leasehold migration ' || $1::text, 0))", schema); err != nil {
		return err
	}
	if at, err = versionOf(ctx, tx, schema); err != nil {
		return err
	}
	if at > len(texts) {
		return newer(schema, at, len(texts))
	}
	var encoding string
	if err := tx.QueryRow(ctx, "SELECT current_setting('server_encoding')").Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return driver.Permanent(fmt.Errorf("postgres: the database has the encoding %s, and names are UTF-8: use a database with the encoding UTF8", encoding))
	}
	for _, text := range texts[at:] {
		if _, err := tx.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, setVersion(schema, len(texts))); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

func noTables(schema string) error {
	return driver.Permanent(fmt.Errorf("postgres: the schema %s has no tables of locks: look at the database and the schema in the URL, run postgres.Migrate or the text of postgres.SQL, "+
		"or open the engine without migrate=off", schema))
}

func older(schema string, at, known int) error {
	return driver.Permanent(fmt.Errorf("postgres: the tables in the schema %s are those of an older version of this package (%d, needed %d): "+
		"run postgres.Migrate, or open the engine without migrate=off", schema, at, known))
}

func newer(schema string, at, known int) error {
	return driver.Permanent(fmt.Errorf("postgres: the tables in the schema %s are those of a newer version of this package (%d, known up to %d): update this program", schema, at, known))
}

// versionOf returns the number of the latest migration of a schema, 0 if there is none.
func versionOf(ctx context.Context, tx asker, schema string) (version int, err error) {
	// Not to_regclass, which may remember that there was none before another program has made it.
	const query = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'meta')"
	var exists bool
	if err := tx.QueryRow(ctx, query, schema).Scan(&exists); err != nil || !exists {
		return 0, err
	}
	err = tx.QueryRow(ctx, "SELECT version FROM "+quoted(schema)+".meta").Scan(&version)
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok && failed.Code == undefinedColumn || errors.Is(err, pgx.ErrNoRows) {
		return 0, driver.Permanent(fmt.Errorf("postgres: the schema %s has a table meta that is not ours: use another schema", schema))
	}
	return version, err
}
