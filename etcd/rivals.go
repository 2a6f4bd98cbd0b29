package etcd

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// rivals tells names apart for which somebody was refused of late: the next one will most likely be, too, and then joins with the request
// that it sends first. Names may share an entry, which costs a longer request and nothing else.
type rivals struct {
	mu   sync.Mutex
	last [256]time.Time // when somebody was refused; zero if nobody was
}

// rivalry is for how long rivals are expected after they were seen.
const rivalry = 10 * time.Second

var rivalSeed = maphash.MakeSeed()

func (r *rivals) entry(k driver.Key) *time.Time {
	return &r.last[maphash.Comparable(rivalSeed, k)%uint64(len(r.last))]
}

// seen says that somebody was refused.
func (r *rivals) seen(k driver.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*r.entry(k) = time.Now()
}

// expected reports whether whoever comes now is likely to be refused.
func (r *rivals) expected(k driver.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := *r.entry(k)
	return !last.IsZero() && time.Since(last) < rivalry
}
