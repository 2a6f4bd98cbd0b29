package etcd

import (
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// state is the first byte of a value. The order lets one comparison see that all places of a name are shared.
type state byte

const (
	keptExclusive state = '1' // nobody's, until it ends
	exclusive     state = '2'
	shared        state = '3' // from the start, or by a downgrade
	keptShared    state = '4'
)

// sharedAbove is below the values of all shared places, and above those of exclusive ones.
const sharedAbove = string(shared)

func (s state) owned() bool  { return s == exclusive || s == shared }
func (s state) shared() bool { return s == shared || s == keptShared }

func (s state) mode() driver.Mode {
	if s.shared() {
		return driver.Shared
	}
	return driver.Exclusive
}

// kept is the state of a place that its owner has left, but that is not free yet.
func (s state) kept() state {
	if s.shared() {
		return keptShared
	}
	return keptExclusive
}

// card is the value of a place, as in "2 30000 1 1 tIkxhM2S…@6a6ea202edcb1e1d.30000 host:42 program": the state, the ttl in milliseconds, weight,
// size, the mark of the owner with its session and grace, and the public text about the holder.
type card struct {
	state        state
	ttl          time.Duration
	weight, size int
	mark         string
	// session is that of the owner, which is alive as long as it lasts. Without one, as all places were that older versions have written, the
	// place ends with the lease of etcd that it is on.
	session clientv3.LeaseID
	// grace is for how long the owner may still believe that it holds when its session has ended.
	grace  time.Duration
	holder string
}

func cardOf(r driver.Request, mark string) card {
	c := card{state: exclusive, ttl: r.TTL, weight: r.Weight, size: r.Size, mark: mark, holder: r.Holder}
	if r.Mode == driver.Shared {
		c.state = shared
	}
	return c
}

// on is the card with another session, for a lease of a ttl.
func (c card) on(s *session, ttl time.Duration) card {
	c.session, c.grace = s.id, graceOf(ttl)
	return c
}

// ends is the card of a place that ends with the lease of etcd that it is on.
func (c card) ends() card {
	c.session, c.grace = 0, 0
	return c
}

// milliseconds rounds up.
func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// bytes is the value.
func (c card) bytes() []byte {
	b := make([]byte, 0, 32+len(c.mark)+len(c.holder))
	b = append(b, byte(c.state), ' ')
	b = strconv.AppendInt(b, milliseconds(c.ttl), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(c.weight), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(c.size), 10)
	b = append(b, ' ')
	b = append(b, c.mark...)
	if c.session != 0 {
		b = append(b, '@')
		b = strconv.AppendInt(b, int64(c.session), 16)
		b = append(b, '.')
		b = strconv.AppendInt(b, milliseconds(c.grace), 10)
	}
	b = append(b, ' ')
	return append(b, c.holder...)
}

const (
	// longest is longer than any lease.
	longest = 366 * 24 * time.Hour
	// mostPermits is the largest size there is.
	mostPermits = 1<<31 - 1
)

// readCard reads a value. What no engine has written stands for nobody's exclusive place: as long as it is there, nobody gets in.
func readCard(value []byte) card {
	strange := card{state: keptExclusive, weight: 1, size: 1}
	words := strings.SplitN(string(value), " ", 6)
	if len(words) != 6 || len(words[0]) != 1 || words[4] == "" {
		return strange
	}
	ttl, err1 := strconv.ParseInt(words[1], 10, 64)
	weight, err2 := strconv.Atoi(words[2])
	size, err3 := strconv.Atoi(words[3])
	c := card{state: state(words[0][0]), ttl: time.Duration(ttl) * time.Millisecond, weight: weight, size: size, holder: words[5]}
	if !c.readMark(words[4]) || err1 != nil || err2 != nil || err3 != nil || c.state < keptExclusive || c.state > keptShared ||
		weight < 1 || size < weight || size > mostPermits || ttl < 0 || ttl > longest.Milliseconds() {
		return strange
	}
	return c
}

// readMark reads the mark of an owner, with its session if there is one.
func (c *card) readMark(word string) (ok bool) {
	mark, rest, named := strings.Cut(word, "@")
	if c.mark = mark; !named {
		return true
	}
	id, grace, _ := strings.Cut(rest, ".")
	session, err1 := strconv.ParseInt(id, 16, 64)
	ms, err2 := strconv.ParseInt(grace, 10, 64)
	c.session, c.grace = clientv3.LeaseID(session), time.Duration(ms)*time.Millisecond
	return mark != "" && err1 == nil && err2 == nil && session > 0 && ms > 0 && ms <= longest.Milliseconds()
}
