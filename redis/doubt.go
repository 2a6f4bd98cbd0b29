package redis

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// doubts are how often the client's map of a Cluster was doubted, and when for the last time.
type doubts struct {
	count atomic.Int64
	last  atomic.Int64 // in nanoseconds of the engine's life
}

// doubtEvery is the shortest time between two doubts.
const doubtEvery = 100 * time.Millisecond

// doubt makes the client of a Cluster look anew for who keeps which slots, after an error that may come of not knowing. By
// itself it goes on for up to a minute to send requests to a master that has failed, and that nobody tells it about. It
// looks in the background.
func (p *place) doubt(n names, err error) {
	if !p.clustered() || !doubtful(err) {
		return
	}
	now, last := int64(p.age()), p.doubts.last.Load()
	if now-last < int64(doubtEvery) && last != 0 || !p.doubts.last.CompareAndSwap(last, now) {
		return
	}
	if c, ok := p.client.(*redis.ClusterClient); ok {
		c.ReloadState(context.Background())
		return
	}
	// What is behind an AutoPipeliner cannot be told. But it looks anew when a server says MOVED. So a request goes where its
	// key is not: to one or the other of two servers that are not the one in doubt.
	count := int(p.doubts.count.Add(1))
	for third := 1; third <= 2; third++ {
		elsewhere := anchors()[(int(n.slot())+third*slots/3+count*257)%slots]
		cmd := redis.NewCmd(context.Background(), "evalsha", strings.Repeat("0", 40), 1, n.value, elsewhere)
		cmd.SetFirstKeyPos(4)
		go func() { _ = p.client.Process(context.Background(), cmd) }()
	}
}

// doubtful reports whether an error may come of asking the wrong server. That the right one has refused is no such error.
func doubtful(err error) bool {
	var reply redis.Error
	if errors.As(err, &reply) {
		return redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "CLUSTERDOWN")
	}
	return err != nil && !errors.Is(err, context.Canceled)
}
