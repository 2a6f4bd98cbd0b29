package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/sqlite"
)

// Pass an engine to leasehold.New: its locks are then shared with all processes that open the same file. Here it is
// used directly, as other engines and tools do.
func ExampleOpen() {
	folder, err := os.MkdirTemp("", "leasehold")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)

	engine, err := sqlite.Open(filepath.Join(folder, "locks.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()

	grant, err := engine.Take(context.Background(), driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: "nightly-backup"},
		Owner:  "a secret that nobody can guess",
		Size:   1,
		Weight: 1,
		TTL:    30 * time.Second,
		Tokens: 1,
	})
	fmt.Println("token", grant.Token, err)

	// Output: token 1 <nil>
}
