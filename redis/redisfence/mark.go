package redisfence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/fence"
)

// Mark is where the largest token seen so far is kept.
type Mark struct {
	// Key is a string of its own, or, with Field, the hash with that field. See [Beside] for a key in the
	// slot of the data.
	Key string
	// Field is the field of a hash. The mark then shares the fate of the other fields, and can only be lost
	// with them. If a Guard deletes the hash, the mark stays in it.
	Field string
}

// Beside returns a mark for the data under a key: the key with ":fence" after it, in the same slot of a
// Cluster. So the mark of "stock:7" is "{stock:7}:fence", and that of "{user:7}:cart" is
// "{user:7}:cart:fence". A key that is nothing but its hash tag, such as "{stock:7}", has no mark, since that
// would be the mark of "stock:7". Nor has a key with a brace but no hash tag, such as "odd}key". Then the
// Mark is empty, and its use is refused: use a [Mark.Field], or a Key that you have chosen yourself.
//
// No two keys have the same mark. But a key that ends in ":fence" may be the mark of another one. If others choose your
// keys, refuse such keys.
func Beside(key string) Mark {
	switch tag := hashTag(key); {
	case key == "{"+tag+"}":
		return Mark{}
	case tag != key:
		return Mark{Key: key + ":fence"}
	case key == "" || strings.ContainsRune(key, '}'):
		return Mark{}
	}
	return Mark{Key: "{" + key + "}:fence"}
}

func (m Mark) check(token uint64) error {
	if m.Key == "" {
		return &fence.ValueError{Field: "mark", Value: `""`, Allowed: "a key in the slot of the data, " +
			"as Beside returns it for keys without braces, or with more than a hash tag"}
	}
	return fence.Valid("mark", token)
}

// SlotError says that a key is in another slot of the Cluster than the mark, so that no script can use both.
// Nothing has been sent. It is a fence.ErrInvalid. Give both the same hash tag, as in {user:7}:cart and
// {user:7}:fence.
type SlotError struct {
	Key, Mark         string
	KeySlot, MarkSlot int
}

// Error implements error.
func (e *SlotError) Error() string {
	return fmt.Sprintf("redisfence: key %s is in slot %d, its mark %s in slot %d: "+
		"give both the same hash tag, as in {user:7}:cart and {user:7}:fence",
		quoted(e.Key), e.KeySlot, quoted(e.Mark), e.MarkSlot)
}

// Unwrap returns fence.ErrInvalid.
func (e *SlotError) Unwrap() error { return fence.ErrInvalid }

// checkKeys refuses keys that cannot go with the mark: the mark itself, and those in another slot unless
// there is a single server.
func (m Mark) checkKeys(client redis.UniversalClient, keys []string) error {
	if m.Field == "" && slices.Contains(keys, m.Key) {
		return &fence.ValueError{Field: "key", Value: quoted(m.Key), Allowed: "another than that of the mark"}
	}
	if _, single := client.(*redis.Client); single {
		return nil
	}
	markSlot := slot(m.Key)
	for _, key := range keys {
		if keySlot := slot(key); keySlot != markSlot {
			return &SlotError{Key: key, KeySlot: keySlot, Mark: m.Key, MarkSlot: markSlot}
		}
	}
	return nil
}

// quoted quotes a key for an error text, and shortens it.
func quoted(key string) string {
	const maxLength = 64
	if len(key) > maxLength {
		key = key[:maxLength] + "…"
	}
	return strconv.Quote(key)
}
