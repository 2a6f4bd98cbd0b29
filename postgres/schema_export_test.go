package postgres

import "strings"

// SQLOf returns the statements that make tables of an earlier version.
func SQLOf(schema string, version int) string {
	texts, err := migrations(schema)
	if err != nil {
		panic(err)
	}
	return strings.Join(texts[:version], "\n") + "\n" + setVersion(schema, version)
}
