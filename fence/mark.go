package fence

import (
	"fmt"
	"strings"
)

// Mark is where a database keeps the largest token seen for one name: a row of a [Table] or the column of a row. It is made without asking the
// database. What is wrong with it is reported by its first use, before anything is sent.
type Mark struct {
	name  string // in errors
	key   any    // of the row
	raise string // one statement with the token as $1 and the key as $2
	look  string // the mark, given the key as $1
	table bool   // a row that is not there is made
	err   error
}

// Table is a table of its own for marks, a row for each name. Make it with [Table.Schema]. It serves any number of names, and protects whatever is
// written in the same transactions.
//
// A row is made when a name is first used, and stays. Who deletes it forgets which tokens are too old.
type Table struct {
	// Name is that of the table, as in "marks" or "shop.marks". It must be written as the database has it.
	Name string
}

// Mark returns the mark for a name, which is best that of the lock: 1 to 1024 bytes of valid UTF-8 without NUL.
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
	// The row stays locked until the end of the transaction, also if WHERE does not hold.
	m.raise = `INSERT INTO ` + quoted + ` AS m (token, name) VALUES ($1, $2) ` +
		`ON CONFLICT (name) DO UPDATE SET token = excluded.token WHERE m.token <= excluded.token`
	m.look = `SELECT m.token FROM ` + quoted + ` AS m WHERE m.name = $1`
	return m
}

// Schema returns the statement that makes the table, unless it is there. It is the same for PostgreSQL and SQLite. Have it run where the
// other tables of your program are made. It returns a [*ValueError] if the table cannot have that name.
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

// Column is a column of a table of your own that holds the mark of each row. It protects that row, and whatever else is written in the same transactions.
// Add it with [Column.Schema]. All names must be written as the database has them.
//
// It goes with its row. A row that is deleted and made again under the same key lets old tokens in: use a [Table] for such rows.
type Column struct {
	Table string // as in "account" or "shop.account"
	Key   string // the column that finds a row: the primary key, or another that is unique
	Token string // the column of the mark, a bigint; NULL counts as 0
}

// Mark returns the mark of the row with that key. The key is handed to the driver as it is. A row that is not there is an [ErrNoRow] when the mark is raised.
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
	// The names of columns are qualified because SQLite takes an unknown one in double quotes for a string.
	m.raise = `UPDATE ` + quoted + ` AS t SET ` + t + ` = $1 WHERE t.` + k + ` = $2 AND (t.` + t + ` IS NULL OR t.` + t + ` <= $1)`
	m.look = `SELECT COALESCE(t.` + t + `, 0) FROM ` + quoted + ` AS t WHERE t.` + k + ` = $1`
	return m
}

// Schema returns the statement that adds the column to the table. It is the same for PostgreSQL and SQLite. It returns a [*ValueError] if a
// name is not allowed.
func (c Column) Schema() (string, error) {
	quoted, _, t, err := c.quoted()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s bigint NOT NULL DEFAULT 0 CHECK (%s BETWEEN 0 AND %d)", quoted, t, t, MaxToken), nil
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
