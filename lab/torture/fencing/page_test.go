package fencing

import (
	"database/sql"
	"os"
	"strings"
	"testing"
)

// block is a piece of SQL in the documents.
type block struct {
	heading, database, text string
}

// page returns the SQL of docs/fencing-sql.md.
func page(t *testing.T) (blocks []block) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/fencing-sql.md")
	noErr(t, err)
	heading, inside := "", false
	for line := range strings.Lines(string(text)) {
		switch word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); {
		case strings.HasPrefix(line, "```") && inside:
			inside = false
		case strings.HasPrefix(word, "```"):
			inside = true
			blocks = append(blocks, block{heading: heading, database: rest})
			if word != "```sql" {
				blocks[len(blocks)-1].database = "none"
			}
		case inside:
			blocks[len(blocks)-1].text += line
		case word == "##":
			heading = rest
		}
	}
	return blocks
}

// All SQL on the page for other languages does what the page says.
func TestThePageOfPlainSQL(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		c, err := d.Conn(t.Context())
		noErr(t, err)
		defer c.Close()
		d.exec(t, "DROP TABLE marks")
		d.exec(t, "CREATE TABLE stock (id bigint PRIMARY KEY, units bigint, shelf text)")
		d.exec(t, "INSERT INTO stock VALUES (7, 42, 'A1')")
		ran := 0
		by := map[string][]string{}
		for _, b := range page(t) {
			if b.database != "" && b.database != strings.ToLower(d.name) {
				continue
			}
			if b.heading == "A single write" && len(by[b.heading]) == 1 {
				d.exec(t, "UPDATE stock SET fence = 16") // as its comment says
			} else if b.heading == "A single write" {
				d.exec(t, "UPDATE stock SET fence = 15")
			}
			result, err := c.ExecContext(t.Context(), b.text)
			if err != nil {
				t.Fatalf("%s: %v\n%s", b.heading, err, b.text)
			}
			ran++
			by[b.heading] = append(by[b.heading], b.text)
			if strings.HasPrefix(b.text, "INSERT") ||
				strings.HasPrefix(b.text, "UPDATE") && strings.Count(b.text, ";") == 1 {
				checkChanges(t, c, b.text, "17", 1, result)
			}
		}
		if want := map[string]int{"PostgreSQL": 11, "SQLite": 10}[d.name]; ran != want {
			t.Errorf("%d blocks were run, want %d", ran, want)
		}
		if got := d.text(t, "SELECT units || ' ' || shelf || ' ' || fence FROM stock"); got != "41 B12 17" {
			t.Errorf("the stock is %q", got)
		}
		if got := d.text(t, "SELECT token FROM marks WHERE name = 'stock:7'"); got != "17" {
			t.Errorf("the mark is %s", got)
		}

		// The same with other tokens.
		table, column, write := by["A table for marks"][1], by["Or a column"][1], by["A single write"][0]
		checkChanges(t, c, table, "17", 1, nil)
		checkChanges(t, c, table, "16", 0, nil)
		checkChanges(t, c, table, "18", 1, nil)
		checkChanges(t, c, column, "17", 1, nil)
		checkChanges(t, c, column, "16", 0, nil)
		checkChanges(t, c, write, "17", 0, nil)
		checkChanges(t, c, write, "18", 1, nil)
		free := strings.SplitAfter(by["Without a transaction"][0], ";\n")
		checkChanges(t, c, free[2], "17", 0, nil) // the mark is 18 now
		checkChanges(t, c, free[2], "18", 1, nil)
		if d.name == "PostgreSQL" {
			_, err = c.ExecContext(t.Context(), "SELECT raise_mark('stock:7', 16)")
			if state(err) != "FE412" {
				t.Errorf("raise_mark: %v, want SQLSTATE FE412", err)
			}
			return
		}
		_, err = c.ExecContext(t.Context(), strings.ReplaceAll(by["A trigger for SQLite"][1], "17", "16"))
		if err == nil || !strings.Contains(err.Error(), "the token is too old") {
			t.Errorf("the trigger: %v", err)
		}
		_, err = c.ExecContext(t.Context(), "ROLLBACK")
		noErr(t, err)
		if got := d.text(t, "SELECT units FROM stock"); got != "41" {
			t.Errorf("the stock is %s", got)
		}
	})
}

// checkChanges runs a statement with another token, unless it has run already, and checks how many rows
// it changes.
func checkChanges(t *testing.T, c *sql.Conn, statement, token string, want int64, result sql.Result) {
	t.Helper()
	if result == nil {
		var err error
		if result, err = c.ExecContext(t.Context(), strings.ReplaceAll(statement, "17", token)); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if n, err := result.RowsAffected(); n != want || err != nil {
		t.Errorf("with token %s %d rows are changed, %v, want %d:\n%s", token, n, err, want, statement)
	}
}
