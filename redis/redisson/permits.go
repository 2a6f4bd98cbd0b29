package redisson

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// permitSemaphore is the protocol of RPermitExpirableSemaphore. It has no watchdog and no owners: each permit has an
// id, and an end by the clock of its client. The permits of an owner have ids that are derived from it.
//
// The number of permits is that of Redisson's object: a program in Java may set it, and a take sets it to its size if
// it is missing. A number that takes have set follows the largest size. A number that a program in Java has set stays,
// whatever the sizes; a take is granted only within both, its own size and that number.
//
// That takes have set it, and the last token, are two numbers in a hash beside, permitNumbers. It has no end: as with
// the counter of RFencedLock, no token may come twice, however long nobody asks for permits. And Redisson's number has
// no end either: if the hash were forgotten before it, that number would be taken for one that a program in Java has
// set, and never follow a larger size again.
type permitSemaphore struct{}

// maxWeight is how many permits one owner may hold: each is an entry of its own on the server.
const maxWeight = 1000

func permitChannel(name string) string { return withPrefix("redisson_sc", name) }
func permitNumbers(name string) string { return withPrefix("leasehold_permits_set", name) }
func heldPermits(name string) string   { return withSuffix(name, "timeout") }

// permitKeys are the first keys of all scripts of semaphores.
func permitKeys(name string, more ...string) []string {
	return append([]string{name, heldPermits(name), withPrefix("leasehold_permits", name)}, more...)
}

// permitArgs are the arguments of a script of semaphores.
func permitArgs(more ...any) []any { return append([]any{time.Now().UnixMilli()}, more...) }

// permitOwner returns how the ids of an owner's permits begin. Redisson makes its ids of 16 random bytes.
func permitOwner(owner string) string {
	sum := sha256.Sum256([]byte("permits " + owner))
	return string(sum[:permitOwnerSize])
}

const (
	permitOwnerSize = 12
	permitSize      = 16
)

func (permitSemaphore) channel(name, _ string) string { return permitChannel(name) }

func (permitSemaphore) take(name string, r driver.Request, _ bool, publish string) call {
	return call{permitsTake, permitKeys(name, permitChannel(name), permitNumbers(name), latchHash(name)),
		permitArgs(permitOwner(r.Owner), publish, luascript.Millis(r.TTL), max(r.Tokens, 1), r.Weight, r.Size,
			luascript.WithoutNUL(r.Holder))}
}

func (permitSemaphore) release(name string, r driver.Release, publish string) call {
	return call{permitsRelease, permitKeys(name, permitChannel(name)),
		permitArgs(permitOwner(r.Owner), publish, luascript.Millis(r.Keep), permitOwner("keep "+r.Owner))}
}

func (permitSemaphore) renew(name string, r driver.Renewal, _ string) call {
	return call{permitsRenew, permitKeys(name), permitArgs(permitOwner(r.Owner), luascript.Millis(r.TTL))}
}

func (permitSemaphore) downgrade(string, driver.Hold, string) call { return call{} }

func (permitSemaphore) force(name string, token uint64, ids []string, publish string) call {
	id := ""
	if len(ids) == 1 {
		id = ids[0]
	}
	return call{permitsForce, permitKeys(name, permitChannel(name)), permitArgs(publish, token, id)}
}

// ownersWithoutToken returns the ids of the permits whose holders have no token.
func (permitSemaphore) ownersWithoutToken(status any) []string {
	ids := []string{}
	items, _ := status.([]any)
	if len(items) < 3 {
		return ids
	}
	held, _ := items[1].([]any)
	known, _ := items[2].([]any)
	holders := map[string]bool{}
	for i := 0; i < len(known); i += 2 {
		owner, _ := known[i].(string)
		holders[owner] = true
	}
	for i := 0; i < len(held); i += 2 {
		if id, _ := held[i].(string); !holders[id[:min(permitOwnerSize, len(id))]] {
			ids = append(ids, id)
		}
	}
	return ids
}

func (permitSemaphore) status(name string) call {
	return call{permitsStatus, permitKeys(name), permitArgs()}
}

// checkWeight refuses a request for more permits than an owner can hold.
func checkWeight(r driver.Request) error {
	if r.Kind == driver.Semaphore && r.Weight > maxWeight {
		return driver.Permanent(fmt.Errorf("redisson: %d permits at once: ask for at most %d, as Redisson keeps an "+
			"entry for each of them", r.Weight, maxWeight))
	}
	return nil
}

// errSeveralPermits answers ForceRelease without a token.
var errSeveralPermits = driver.Permanent(errors.New("redisson: several permits without a token are held, and nothing " +
	"tells them apart: release them in the programs in Java that hold them"))
