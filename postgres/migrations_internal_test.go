package postgres

import (
	"fmt"
	"strings"
	"testing"
)

// The version of the tables is the number of files that have been run: the number of each file is its position, without
// gaps.
func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	list, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range list {
		if number := fmt.Sprintf("%04d_", i+1); !strings.HasPrefix(f.Name(), number) {
			t.Errorf("%s has the position %s", f.Name(), number)
		}
	}
}
