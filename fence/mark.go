package fence

import (
	"fmt"
	"strings"
)

// Mark describes where a database keeps the largest token seen for one name: a row of a [Table], or the column of a
// row. It is made without a request to the database. An error in it is reported when it is first used, before anything
// is sent.
type Mark struct {
	name   string // for error texts
	key    any    // of the row
	update string // a statement that raises the mark, with the token as $1 and the key as $2
	read   string // a query for the mark, with the key as $1
	table  bool   // the statement inserts a missing row
	err    error
}

// Table is a separate table of marks, with a row for each name. Make it with [Table.Schema]. It serves any number of
// names, and protects whatever is written in the same transactions.
//
// A row is inserted when a name is first used, and stays. If a row is deleted, it is forgotten which tokens are too
// old.
type Table struct {
	// Name is the name of the table, as in "marks" or "shop.marks". It must be written exactly as in the database.
	Name string
}

// Mark returns the mark for a name, preferably the name of the lock: 1 to 1024 bytes of valid UTF-8 without NUL.
func (t Table) Mark(name string) Mark {
	m := Mark{name: name, key: name, table: true}
	quoted, err := table(t.Name)
	if err == nil {
		err = Valid(name, 1)
	}
	if err != nil {
		m.err = err
		return m
	}
	// The row stays locked until the end of the transaction, even if the condition is false.
	m.update = `INSERT INTO ` + quoted + ` AS m (token, name) VALUES ($1, $2) ` +
		`ON CONFLICT (name) DO UPDATE SET token = excluded.token WHERE m.token <= excluded.token`
	m.read = `SELECT m.token FROM ` + quoted + ` AS m WHERE m.name = $1`
	return m
}

// Schema returns a statement that makes the table if it does not exist. It works in PostgreSQL and SQLite. Run it where
// the other tables of your program are made. Schema returns a [*ValueError] if the name is not allowed.
func (t Table) Schema() (string, error) {
	quoted, err := table(t.Name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (\n"+
		"  name  text   NOT NULL PRIMARY KEY,\n"+
		"  token bigint NOT NULL CHECK (token BETWEEN 1 AND %d)\n"+
		")", quoted, MaxToken), nil
}

// Column is a column of a table of your own that holds the mark of each row. It protects that row, and whatever else is
// written in the same transactions. Add the column with [Column.Schema]. All names must be written exactly as in the
// database.
//
// The mark is deleted with its row. If a row is deleted and inserted again under the same key, old tokens are let in:
// use a [Table] for such rows.
type Column struct {
	Table string // as in "account" or "shop.account"
	Key   string // the column that identifies a row: the primary key, or another unique column
	Token string // the column of the mark, a bigint; NULL counts as 0
}

// Mark returns the mark of the row with a key. The key is passed to the driver as it is. Raising the mark of a row that
// does not exist is an [ErrNoRow].
func (c Column) Mark(key any) Mark {
	m := Mark{name: shortened(fmt.Sprintf("%s %v", c.Table, key)), key: key}
	quoted, k, t, err := c.quoted()
	if err == nil && key == nil {
		err = missing("key", "the value of the key column")
	}
	if err != nil {
		m.err = err
		return m
	}
	// Column names are qualified, because SQLite takes an unknown name in double quotes for a string.
	m.update = `UPDATE ` + quoted + ` AS t SET ` + t + ` = $1 ` +
		`WHERE t.` + k + ` = $2 AND (t.` + t + ` IS NULL OR t.` + t + ` <= $1)`
	m.read = `SELECT COALESCE(t.` + t + `, 0) FROM ` + quoted + ` AS t WHERE t.` + k + ` = $1`
	return m
}

// Schema returns a statement that adds the column to the table. It works in PostgreSQL and SQLite. Schema returns a
// [*ValueError] if a name is not allowed.
func (c Column) Schema() (string, error) {
	quoted, _, t, err := c.quoted()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s bigint NOT NULL DEFAULT 0 CHECK (%s BETWEEN 0 AND %d)",
		quoted, t, t, MaxToken), nil
}

func (c Column) quoted() (tableName, key, token string, err error) {
	if tableName, err = table(c.Table); err != nil {
		return "", "", "", err
	}
	if key, err = column("key column", c.Key); err != nil {
		return "", "", "", err
	}
	if token, err = column("token column", c.Token); err != nil {
		return "", "", "", err
	}
	if strings.EqualFold(c.Key, c.Token) {
		return "", "", "", invalid("token column", c.Token, "another than the key column")
	}
	return tableName, key, token, nil
}
