package etcd

import (
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// state is the first byte of a record. The states are ordered so that one comparison can tell that all entries of a
// name are shared.
type state byte

const (
	keptExclusive state = '1' // without an owner, until it expires
	exclusive     state = '2'
	shared        state = '3' // taken as shared, or downgraded
	keptShared    state = '4'
)

// sharedAbove sorts before the records of all shared entries and after those of all exclusive ones.
const sharedAbove = string(shared)

func (s state) isOwned() bool  { return s == exclusive || s == shared }
func (s state) isShared() bool { return s == shared || s == keptShared }

func (s state) mode() driver.Mode {
	if s.isShared() {
		return driver.Shared
	}
	return driver.Exclusive
}

// asKept returns the state of an entry that its owner has released but that is not free yet.
func (s state) asKept() state {
	if s.isShared() {
		return keptShared
	}
	return keptExclusive
}

// record is the value of an entry, such as "2 30000 1 1 tIkxhM2S…@6a6ea202edcb1e1d.30000 host:42 program". It has the
// state, the ttl in milliseconds, the weight, the size, the owner mark with its session and grace, and the holder text.
type record struct {
	state        state
	ttl          time.Duration
	weight, size int
	mark         string
	// session is the owner's session: the owner lives as long as the session exists. Without a session the entry ends
	// with the etcd lease that it is attached to, as all entries of older versions do.
	session clientv3.LeaseID
	// grace is how long the owner may believe that it is the holder after its session has ended.
	grace  time.Duration
	holder string
}

func newRecord(r driver.Request, mark string) record {
	rec := record{state: exclusive, ttl: r.TTL, weight: r.Weight, size: r.Size, mark: mark, holder: r.Holder}
	if r.Mode == driver.Shared {
		rec.state = shared
	}
	return rec
}

// onSession returns the record with another session, for a lease of a ttl.
func (rec record) onSession(s *session, ttl time.Duration) record {
	rec.session, rec.grace = s.id, graceFor(ttl)
	return rec
}

// withoutSession returns the record of an entry that ends with its etcd lease.
func (rec record) withoutSession() record {
	rec.session, rec.grace = 0, 0
	return rec
}

// milliseconds rounds up.
func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// encode returns the value that is stored.
func (rec record) encode() []byte {
	b := make([]byte, 0, 32+len(rec.mark)+len(rec.holder))
	b = append(b, byte(rec.state), ' ')
	b = strconv.AppendInt(b, milliseconds(rec.ttl), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(rec.weight), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(rec.size), 10)
	b = append(b, ' ')
	b = append(b, rec.mark...)
	if rec.session != 0 {
		b = append(b, '@')
		b = strconv.AppendInt(b, int64(rec.session), 16)
		b = append(b, '.')
		b = strconv.AppendInt(b, milliseconds(rec.grace), 10)
	}
	b = append(b, ' ')
	return append(b, rec.holder...)
}

const (
	// maxRecordTTL is longer than any lease.
	maxRecordTTL = 366 * 24 * time.Hour
	// maxPermits is the largest size of a semaphore.
	maxPermits = 1<<31 - 1
)

// readRecord decodes a value. A value that no engine has written stands for an exclusive entry without an owner: nobody
// is granted the name while it exists.
func readRecord(value []byte) record {
	strange := record{state: keptExclusive, weight: 1, size: 1}
	words := strings.SplitN(string(value), " ", 6)
	if len(words) != 6 || len(words[0]) != 1 || words[4] == "" {
		return strange
	}
	ttl, err1 := strconv.ParseInt(words[1], 10, 64)
	weight, err2 := strconv.Atoi(words[2])
	size, err3 := strconv.Atoi(words[3])
	rec := record{
		state: state(words[0][0]), ttl: time.Duration(ttl) * time.Millisecond,
		weight: weight, size: size, holder: words[5],
	}
	if !rec.readOwnerMark(words[4]) || err1 != nil || err2 != nil || err3 != nil ||
		rec.state < keptExclusive || rec.state > keptShared ||
		weight < 1 || size < weight || size > maxPermits || ttl < 0 || ttl > maxRecordTTL.Milliseconds() {
		return strange
	}
	return rec
}

// readOwnerMark decodes an owner mark, with its session if there is one.
func (rec *record) readOwnerMark(word string) (ok bool) {
	mark, rest, named := strings.Cut(word, "@")
	if rec.mark = mark; !named {
		return true
	}
	id, grace, _ := strings.Cut(rest, ".")
	session, err1 := strconv.ParseInt(id, 16, 64)
	ms, err2 := strconv.ParseInt(grace, 10, 64)
	rec.session, rec.grace = clientv3.LeaseID(session), time.Duration(ms)*time.Millisecond
	return mark != "" && err1 == nil && err2 == nil && session > 0 && ms > 0 && ms <= maxRecordTTL.Milliseconds()
}
