package etcd

import (
	"strconv"
	"strings"
	"time"

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

// card is the value of a place, as in "2 30000 1 1 tIkxhM2S… host:42 program": the state, the ttl in milliseconds, weight, size, the mark of
// the owner, and the public text about the holder.
type card struct {
	state        state
	ttl          time.Duration
	weight, size int
	mark         string
	holder       string
}

func cardOf(r driver.Request, mark string) card {
	c := card{exclusive, r.TTL, r.Weight, r.Size, mark, r.Holder}
	if r.Mode == driver.Shared {
		c.state = shared
	}
	return c
}

// bytes is the value.
func (c card) bytes() []byte {
	b := make([]byte, 0, 32+len(c.mark)+len(c.holder))
	b = append(b, byte(c.state), ' ')
	b = strconv.AppendInt(b, int64((c.ttl+time.Millisecond-1)/time.Millisecond), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(c.weight), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(c.size), 10)
	b = append(b, ' ')
	b = append(b, c.mark...)
	b = append(b, ' ')
	return append(b, c.holder...)
}

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
	c := card{state(words[0][0]), time.Duration(ttl) * time.Millisecond, weight, size, words[4], words[5]}
	if err1 != nil || err2 != nil || err3 != nil || c.state < keptExclusive || c.state > keptShared || weight < 1 || size < weight || c.ttl < 0 {
		return strange
	}
	return c
}
