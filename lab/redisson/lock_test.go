package redisson

import (
	"errors"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// versions are those of Redisson that the tests run with.
var versions = []string{javaside.Newest, javaside.Oldest}

func TestRedissonLocksAndUnlocks(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			java := javaside.Start(t, version)
			java.MustOpen("a", javaside.Single(s.URL()))
			java.MustOpen("b", javaside.Single(s.URL()))
			if got := java.MustCall("a", "lock.tryLock", "order:1001"); got != true {
				t.Fatalf("tryLock of a free lock: %v", got)
			}
			if got := java.MustCall("b", "lock.tryLock", "order:1001"); got != false {
				t.Fatalf("tryLock of a held lock: %v", got)
			}
			_, err := java.Call(t.Context(), javaside.Call{Client: "b", Op: "lock.unlock", Name: "order:1001"})
			if e, ok := errors.AsType[javaside.Error](err); !ok || e.Class() != "IllegalMonitorStateException" {
				t.Fatalf("unlock by a stranger: %v", err)
			}
			owner, err := java.Owner(t.Context(), "a", "main")
			if err != nil {
				t.Fatal(err)
			}
			if count, err := s.Command("HGET", "order:1001", owner); err != nil || count != "1" {
				t.Fatalf("field %s of the lock: %v, %v", owner, count, err)
			}
			java.MustCall("a", "lock.unlock", "order:1001")
			if left, err := s.Command("EXISTS", "order:1001"); err != nil || left != int64(0) {
				t.Fatalf("the lock is left: %v, %v", left, err)
			}
		})
	}
}
