//go:build redisson

package redisson

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// hammerTime is how long each kind of object is hammered.
const hammerTime = time.Minute

// beside are the versions of Redisson that run beside Go.
var beside = versions

// codecs are those with which Java plays the recordings: "" is the default. None makes a difference.
var codecs = []string{"", "org.redisson.codec.SerializationCodec", "org.redisson.client.codec.StringCodec"}

// Redisson's own clients exclude each other, as the register sees it: what it finds beside clients of ours is ours.
func TestRedissonExcludesItself(t *testing.T) {
	s := redisserver.ForTest(t, redisserver.Config{})
	java := javaside.Start(t, javaside.Newest)
	// Now and then all waiters of a fair lock wait although it is free, until a lease would have ended.
	c := javaside.Single(s.URL())
	c.Watchdog = watchdog
	java.MustOpen("client1", c)
	java.MustOpen("client2", c)
	for _, h := range hammers {
		if h.Kinds[0] == "multi" || h.Kinds[0] == "red" { // they consist of locks
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			h.begin(t, java)
			h.Threads = 2
			h.inJava(t, java, "client1", "client2")
			h.mustNotOverlap(t)
		})
	}
}
