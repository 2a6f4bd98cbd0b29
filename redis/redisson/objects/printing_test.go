package objects_test

import (
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// What is printed shows names, and no state that changes meanwhile.
func TestPrinting(t *testing.T) {
	t.Parallel()
	rdb := goredis.NewClient(&goredis.Options{Addr: "localhost:1"}) // nothing is sent
	defer rdb.Close()
	r, err := objects.New(rdb)
	must(t, err)
	defer r.Close()
	both, err := objects.NewMultiLock(r.Lock("a"), r.FairLock("b"))
	must(t, err)
	for want, v := range map[string]any{
		"redisson client":                  r,
		`lock "a"`:                         r.Lock("a"),
		`read-write lock "c"`:              r.ReadWriteLock("c"),
		`multi-lock of lock "a", lock "b"`: both,
		`semaphore "d"`:                    r.Semaphore("d"),
		`latch "e"`:                        r.CountDownLatch("e"),
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if text := fmt.Sprintf(verb, v); text != want {
				t.Errorf("%s prints %s, want %s", verb, text, want)
			}
		}
	}
}
