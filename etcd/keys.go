package etcd

import (
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

// Each place of an owner, be it one that holds or one that waits, is one key:
//
//	<prefix><kind>/<name>\x00<owner>
//
// No name has a zero byte in it. So the places of one name are a range that no other name has a part in, and names are in the order of
// listings. Who is before whom says the revision at which a key was created, which nothing but its removal can change.
type keys struct{ prefix string }

// kind is what the keys of all names of a kind begin with.
func (k keys) kind(kind driver.Kind) string { return k.prefix + kind.String() + "/" }

// places is the range of keys of a name.
func (k keys) places(key driver.Key) span {
	stem := k.kind(key.Kind) + key.Name
	return span{stem + "\x00", stem + "\x01"}
}

// place is the key of an owner.
func (s span) place(owner string) string { return s.from + owner }

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
