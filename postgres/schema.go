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

// DefaultSchema is the schema of the tables, unless WithSchema or the parameter schema sets another one.
const DefaultSchema = "leasehold"

//go:embed migrations/*.sql
var migrationFiles embed.FS

// plainSchema matches the names that a schema may have.
var plainSchema = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

const allowedSchema = "1 to 40 of the letters a to z, digits and underscores, without a digit in front"

// migrations returns the texts of the migration files in their order. The first is number 1.
func migrations(schema string) (texts []string, err error) {
	if !plainSchema.MatchString(schema) || strings.HasPrefix(schema, "pg_") {
		return nil, fmt.Errorf("postgres: the schema %q is not allowed: it must be %s, and not begin with pg_",
			schema, allowedSchema)
	}
	list, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		text, err := migrationFiles.ReadFile("migrations/" + f.Name())
		if err != nil {
			return nil, err
		}
		texts = append(texts, inSchema(schema, string(text)))
	}
	return texts, nil
}

// inSchema rewrites a text of the default schema for another schema.
func inSchema(schema, text string) string {
	text = strings.ReplaceAll(text, DefaultSchema+".", quoted(schema)+".")
	return strings.ReplaceAll(text, "CREATE SCHEMA "+DefaultSchema, "CREATE SCHEMA "+quoted(schema))
}

// quoted is the name of a schema as it is written in a statement. Without quotes, some names would be key words, such
// as user.
func quoted(schema string) string {
	if schema == DefaultSchema {
		return schema
	}
	return `"` + schema + `"`
}

// SQL returns the statements that make the tables and functions in an empty schema, for programs that manage migrations
// themselves. Run them once, in one transaction, and then open engines with migrate=off. SQL panics if the name of the
// schema is not allowed: 1 to 40 characters, letters a to z, digits and underscores, not beginning with a digit or with
// pg_.
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

// Migrate makes the tables and functions in the schema, or brings them up to date, in one transaction. It does nothing
// if they are up to date. Many programs may call it at the same time. Its errors are marked with [driver.NoEffect], or
// with [driver.Permanent] if another attempt is pointless: the tables are of a newer version of this package, rights
// are missing, or the database does not have the encoding UTF8.
func Migrate(ctx context.Context, db Beginner, schema string) error {
	texts, err := migrations(schema)
	if err != nil {
		return driver.Permanent(err)
	}
	err = migrate(ctx, db, schema, texts)
	if err != nil && !driver.HadNoEffect(err) {
		// Migrating again has no further effect, so an unknown outcome does not matter.
		err = explain(fmt.Errorf("looking for the tables, or making them: %w", err))
		return noEffect(explainMigrationRights(ctx, db, schema, err))
	}
	return err
}

// explainMigrationRights adds the missing right to an error that is for lack of rights.
func explainMigrationRights(ctx context.Context, db Beginner, schema string, err error) error {
	if answered, ok := errors.AsType[*pgconn.PgError](err); !ok || answered.Code != insufficientRights {
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
		return driver.Permanent(fmt.Errorf("%w: only the user who has made the tables in the schema %s can change "+
			"them: let a program of that user take a lock, or run postgres.Migrate as that user", err, schema))
	}
	return newRightsError(user, []string{right}, "; or let a user who may make the tables take the first lock", err)
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
	const lock = "SELECT pg_advisory_xact_lock(hashtextextended('leasehold migration ' || $1::text, 0))"
	if _, err := tx.Exec(ctx, lock, schema); err != nil {
		return err
	}
	if at, err = versionOf(ctx, tx, schema); err != nil {
		return err
	}
	if at > len(texts) {
		return newerVersionError(schema, at, len(texts))
	}
	var encoding string
	if err := tx.QueryRow(ctx, "SELECT current_setting('server_encoding')").Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return driver.Permanent(fmt.Errorf("postgres: the database has the encoding %s, and names are UTF-8: "+
			"use a database with the encoding UTF8", encoding))
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

func noTablesError(schema string) error {
	return driver.Permanent(fmt.Errorf("postgres: the schema %s has no tables of locks: check the database and the "+
		"schema in the URL, run postgres.Migrate or the text of postgres.SQL, or open the engine without migrate=off",
		schema))
}

func olderVersionError(schema string, at, known int) error {
	return driver.Permanent(fmt.Errorf("postgres: the tables in the schema %s are those of an older version of this "+
		"package (%d, needed %d): run postgres.Migrate, or open the engine without migrate=off", schema, at, known))
}

func newerVersionError(schema string, at, known int) error {
	return driver.Permanent(fmt.Errorf("postgres: the tables in the schema %s are those of a newer version of this "+
		"package (%d, known up to %d): update this program", schema, at, known))
}

// versionOf returns the number of the latest migration of a schema, or 0 if there are no tables.
func versionOf(ctx context.Context, tx queryer, schema string) (version int, err error) {
	// Not to_regclass: it may remember that there was no table before another program made it.
	const query = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class c " +
		"JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'meta')"
	var exists bool
	if err := tx.QueryRow(ctx, query, schema).Scan(&exists); err != nil || !exists {
		return 0, err
	}
	err = tx.QueryRow(ctx, "SELECT version FROM "+quoted(schema)+".meta").Scan(&version)
	failed, ok := errors.AsType[*pgconn.PgError](err)
	if ok && failed.Code == undefinedColumn || errors.Is(err, pgx.ErrNoRows) {
		return 0, driver.Permanent(fmt.Errorf("postgres: the schema %s has a table meta that is not one of these "+
			"tables: use another schema", schema))
	}
	return version, err
}
