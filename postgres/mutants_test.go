package postgres_test

import (
	"os"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// number distinguishes a database from those that were restored from its dump.
const number = "hashtextextended(origin.id::text, base.oid::bigint)"

var mutants = []overlay.Fault{{
	Name: "database recognised by numbers that a dump may have, too",
	Edits: []overlay.Edit{{
		File: "schema.go",
		From: "inSchema(schema, string(text))",
		To:   "inSchema(schema, strings.Replace(string(text), \"" + number + "\", \"base.oid::bigint\", 1))",
	}},
	Test: "TestDumpOfARestoredDatabase",
}, {
	Name: "tables made by a request that only reads",
	Edits: []overlay.Edit{{File: "removals.go", From: "empty, err := e.hasNoTables(ctx); empty || err != nil",
		To: "err := e.makeTables(ctx); err != nil"}},
	Test: "TestReadingCreatesNothing", Says: "the listing is",
}}

// Each fault fits the code and the statements. make mutants checks that it is found.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	overlay.Check(t, mutants)
	const file = "migrations/0009_origin.sql"
	if text, err := os.ReadFile(file); err != nil || strings.Count(string(text), number) != 1 {
		t.Errorf("%s must have one %s: plant the fault again (%v)", file, number, err)
	}
}
