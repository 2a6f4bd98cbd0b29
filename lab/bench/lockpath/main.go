// Lockpath lists the files of Go that one uncontended Lock passes through on Redis, with the number of statements that
// run in each. The context can be cancelled, and the client is that of go-redis as it is by default. Run it with
// coverage, in the root of the project:
//
//	go run -cover -covermode=atomic -coverpkg=github.com/leasehold-go/leasehold/... ./lab/bench/lockpath
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/coverage"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

const home = "github.com/leasehold-go/leasehold/"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "lockpath:", err)
		os.Exit(1)
	}
}

func run() error {
	folder, err := os.MkdirTemp("", "lockpath")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := lockOnce(folder); err != nil {
		return err
	}
	profile := filepath.Join(folder, "profile")
	convert := exec.Command("go", "tool", "covdata", "textfmt", "-i="+folder, "-o="+profile)
	if said, err := convert.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	ran := map[string]int{} // statements by file
	for line := range strings.Lines(string(text)) {
		file, counts, _ := strings.Cut(line, ":")
		var at string
		var statements, times int
		n, _ := fmt.Sscan(counts, &at, &statements, &times)
		if n == 3 && times > 0 && !strings.Contains(file, "/lab/") {
			ran[strings.TrimPrefix(file, home)] += statements
		}
	}
	files := slices.SortedFunc(maps.Keys(ran), func(a, b string) int { return ran[b] - ran[a] })
	many := 0
	for _, f := range files {
		fmt.Printf("%3d %s\n", ran[f], f)
		if ran[f] >= 10 {
			many++
		}
	}
	fmt.Printf("%d files, %d of them with ten statements or more\n", len(files), many)
	return nil
}

// lockOnce locks and releases until everything is known and open, and records what one more Lock runs.
func lockOnce(folder string) error {
	server, err := redisserver.Start(redisserver.Config{})
	if err != nil {
		return err
	}
	defer server.Close()
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	defer client.Close()
	engine, err := redis.New(client, redis.WithoutFailoverGuard())
	if err != nil {
		return err
	}
	defer engine.Close()
	locks := leasehold.New(engine)
	defer locks.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range 3 {
		lease, err := locks.Mutex("order:1").Lock(ctx)
		if err != nil {
			return err
		}
		if err := lease.Release(); err != nil {
			return err
		}
	}
	if err := coverage.ClearCounters(); err != nil {
		return fmt.Errorf("%w: run it with coverage, as its documentation says", err)
	}
	lease, err := locks.Mutex("order:1").Lock(ctx)
	if err != nil {
		return err
	}
	if err := coverage.WriteMetaDir(folder); err != nil {
		return err
	}
	if err := coverage.WriteCountersDir(folder); err != nil {
		return err
	}
	return lease.Release()
}
