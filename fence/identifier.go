package fence

import "strings"

// maxIdentifier is the limit of PostgreSQL, which silently truncates longer names. See
// https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-IDENTIFIERS.
const maxIdentifier = 63

const allowedIdentifiers = "1 to 63 letters, digits or underscores of ASCII, not beginning with a digit, and written " +
	"as the database has it: small, if it was created without quotes"

// column quotes the name of a column for SQL.
func column(field, name string) (string, error) {
	if !isIdentifier(name) {
		return "", invalid(field, name, allowedIdentifiers)
	}
	return `"` + name + `"`, nil
}

// table quotes the name of a table, which may be qualified with a schema.
func table(name string) (string, error) {
	schema, rest, qualified := strings.Cut(name, ".")
	switch {
	case !qualified && isIdentifier(name):
		return `"` + name + `"`, nil
	case qualified && isIdentifier(schema) && isIdentifier(rest):
		return `"` + schema + `"."` + rest + `"`, nil
	}
	return "", invalid("table", name, allowedIdentifiers+`; with a schema, "schema.table"`)
}

// isIdentifier reports whether a name is safe between double quotes and keeps its meaning there.
func isIdentifier(name string) bool {
	if name == "" || len(name) > maxIdentifier {
		return false
	}
	for i, c := range []byte(name) {
		switch {
		case c == '_', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case '0' <= c && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return true
}
