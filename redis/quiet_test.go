package redis_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// silentVariable makes the test binary a program that uses an engine of this URL until it has failed often enough. The
// log of go-redis is what it is in any program.
const silentVariable = "LEASEHOLD_REDIS_QUIET"

// useUntilItFails prints "took" once it was granted a lock, and returns after a number of failures.
func useUntilItFails(url string) error {
	const failures = 100
	e, err := redis.Open(url)
	if err != nil {
		return err
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	waiting := lock("waited for")
	waiting.Join = true
	var work sync.WaitGroup
	var said sync.Once
	work.Go(func() { // somebody subscribes to messages
		held := lasting("waited for", time.Hour)
		if _, err := e.Take(ctx, held); err != nil {
			return
		}
		if _, err := e.Take(ctx, waiting); err == nil {
			panic("two hold")
		}
		said.Do(func() { fmt.Println("took") })
		_, _ = e.Wait(ctx, waiting)
	})
	var mu sync.Mutex
	failed := 0
	for i := range 8 {
		work.Go(func() {
			for ctx.Err() == nil {
				r := lock(fmt.Sprint(i))
				_, err := e.Take(ctx, r)
				if err == nil {
					err = e.Release(ctx, driver.Release{Hold: hold(r)})
				}
				mu.Lock()
				if err != nil {
					failed++
				}
				over := failed >= failures
				mu.Unlock()
				if over {
					cancel()
				}
			}
		})
	}
	work.Wait()
	if failed < failures {
		return fmt.Errorf("%d requests have failed, want %d", failed, failures)
	}
	return nil
}

// An engine of Open prints nothing, whatever happens to the servers.
func TestOpenPrintsNothing(t *testing.T) {
	t.Parallel()
	gone := redisserver.ForTest(t, redisserver.Config{})
	gone.Kill()
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	sentinels := redisserver.SentinelsForTest(t, 1, r)
	alone := redisserver.ForTest(t, redisserver.Config{})
	cluster := redisserver.ClusterForTest(t, 1, 0, redisserver.Config{})
	for name, c := range map[string]struct {
		url  string
		dies []*redisserver.Server // killed when they have been used
	}{
		"gone":           {"redis://" + gone.Addr(), nil},
		"no socket":      {"redis+unix://" + filepath.Join(t.TempDir(), "none"), nil},
		"a Cluster gone": {"redis+cluster://" + gone.Addr(), nil},
		"Sentinels gone": {"redis+sentinel://" + gone.Addr() + "/" + redisserver.MasterName, nil},
		"dies":           {"redis://" + alone.Addr() + "?guard=off", []*redisserver.Server{alone}},
		"a Cluster dies": {"redis+cluster://" + cluster.Nodes[0].Addr() + "?guard=off", cluster.Nodes},
		"the master dies": {"redis+sentinel://" + strings.Join(sentinels.Addrs(), ",") + "/" + redisserver.MasterName +
			"?guard=off", r.Servers()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), silentVariable+"="+c.url)
			var printed bytes.Buffer
			cmd.Stderr = &printed
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if len(c.dies) > 0 {
				var took [len("took\n")]byte
				if _, err := io.ReadFull(out, took[:]); err != nil || string(took[:]) != "took\n" {
					t.Errorf("it prints %q (%v)", took, err)
				}
				for _, s := range c.dies {
					s.Kill()
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if printed.Len() > 0 {
				t.Errorf("it prints %d lines: %s", bytes.Count(printed.Bytes(), []byte("\n")),
					printed.Bytes()[:min(printed.Len(), 1000)])
			}
		})
	}
}
