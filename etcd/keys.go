package etcd

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// Each place of an owner, be it one that holds or one that waits, is one key:
//
//	<prefix><kind>/<name>\x00<engine><number>
//
// No name has a zero byte in it. So the places of one name are a range that no other name has a part in, and names are in the order of
// listings. Who is before whom says the revision at which a key was created, which nothing but its removal can change.
//
// Whose it is says the value. An engine uses its keys of a name again and again, for one owner after the other: until its history is
// compacted, which may be never, a server remembers all keys that there were, and goes through those in a range whenever that is read.
type keys struct{ prefix string }

// kind is what the keys of all names of a kind begin with.
func (k keys) kind(kind driver.Kind) string { return k.prefix + kind.String() + "/" }

// places is the range of keys of a name.
func (k keys) places(key driver.Key) span {
	stem := k.kind(key.Kind) + key.Name
	return span{stem + "\x00", stem + "\x01"}
}

// place is a key of an engine, by its number.
func (s span) place(engine string, number int) string {
	if number == 0 { // most often
		return s.from + engine
	}
	return s.from + engine + "." + strconv.Itoa(number)
}

// markOf stands for an owner in the cluster, where others may read it who are not to act as the owner.
func markOf(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return base64.RawURLEncoding.EncodeToString(sum[:15])
}

// sessionStem is what the keys of sessions begin with, after the prefix.
const sessionStem = "session/"

// session is the key that is there as long as a session lasts. No kind of lock is called so.
func (k keys) session(id clientv3.LeaseID) string {
	return k.prefix + sessionStem + strconv.FormatInt(int64(id), 16)
}

// name takes a key of the kind apart.
func (k keys) name(kind driver.Kind, path string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(path, k.kind(kind))
	if !ok {
		return "", false
	}
	name, _, ok = strings.Cut(rest, "\x00")
	return name, ok
}

// span is a range of keys: from is in it, to is not.
type span struct{ from, to string }
