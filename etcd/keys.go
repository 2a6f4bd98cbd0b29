package etcd

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// Each entry, of a holder or of a waiter, is one etcd key:
//
//	<prefix><kind>/<name>\x00<engine><number>
//
// A name contains no zero byte. So the entries of one name are a key range of their own, and names are in the order of
// listings. The order of the entries is that of the revisions at which their keys were created, which nothing but a
// removal can change.
//
// The value says whose entry it is. An engine uses its keys of a name again, for one owner after the other: until its
// history is compacted, which may be never, a server remembers all keys that ever existed, and goes through those in a
// range whenever the range is read.
type keys struct{ prefix string }

// kindPrefix returns what the keys of all names of a kind begin with.
func (k keys) kindPrefix(kind driver.Kind) string { return k.prefix + kind.String() + "/" }

// entryRange returns the range of the entries of a name.
func (k keys) entryRange(key driver.Key) keyRange {
	path := k.kindPrefix(key.Kind) + key.Name
	return keyRange{path + "\x00", path + "\x01"}
}

// entryPath returns the etcd key of an engine with a number.
func (kr keyRange) entryPath(engine string, number int) string {
	if number == 0 { // the usual case
		return kr.from + engine
	}
	return kr.from + engine + "." + strconv.Itoa(number)
}

// ownerMark stands for an owner in the cluster. It is a hash, because not everybody who may read the values may act as
// the owner.
func ownerMark(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return base64.RawURLEncoding.EncodeToString(sum[:15])
}

// sessionPrefix is what the keys of sessions begin with, after the engine's prefix.
const sessionPrefix = "session/"

// sessionPath returns the etcd key that exists as long as a session. No kind of lock is called "session".
func (k keys) sessionPath(id clientv3.LeaseID) string {
	return k.prefix + sessionPrefix + strconv.FormatInt(int64(id), 16)
}

// nameOf returns the name in an etcd key of the kind.
func (k keys) nameOf(kind driver.Kind, path string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(path, k.kindPrefix(kind))
	if !ok {
		return "", false
	}
	name, _, ok = strings.Cut(rest, "\x00")
	return name, ok
}

// keyRange is a range of etcd keys, with from and without to.
type keyRange struct{ from, to string }
