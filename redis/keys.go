package redis

import (
	"errors"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

// redisKeys are the Redis keys of one name, all in one slot of a Cluster.
//
// The value of a lock is in the key <prefix><name>, where other clients look for it. All other keys have a hash tag
// that leads to the same slot: {<prefix><name>}:token and so on. If the name has its own hash tag ("{user:7}:cart"), or
// braces that would end ours early, another tag is used, followed by the whole key of the value:
// {user:7}lock:{user:7}:cart:token.
type redisKeys struct {
	value string
	token string
	kind  driver.Kind
}

// Last parts of keys.
const (
	partToken   = "token"
	partQueue   = "queue"
	partHolders = "holders"
	partInfo    = "info"

	partPermits        = "permits"
	partPermitsQueue   = "permits-queue"
	partPermitsHolders = "permits-holders"
	partPermitsInfo    = "permits-info"

	partLatch = "latch"
	partData  = "data"
)

func (e *Engine) names(k driver.Key) redisKeys {
	// The common case takes one allocation: value and tag are parts of token.
	token := "{" + e.prefix + k.Name + "}:" + partToken
	value := token[1 : len(token)-len("}:"+partToken)]
	tag := hashTagFor(value)
	if tag != value {
		token = "{" + tag + "}" + value + ":" + partToken
	}
	n := redisKeys{value: value, token: token, kind: k.Kind}
	switch k.Kind {
	case driver.Semaphore:
		n.value = n.partPrefix() + partPermits
	case driver.Latch:
		n.value = n.partPrefix() + partLatch
	}
	return n
}

// anyNames returns the keys of some name, for requests about a server as a whole.
func (e *Engine) anyNames() redisKeys { return e.names(driver.Key{Kind: driver.Lock, Name: "any"}) }

// partPrefix returns what begins all keys but that of the value of a lock.
func (n redisKeys) partPrefix() string { return n.token[:strings.LastIndexByte(n.token, ':')+1] }

// allKeys returns the keys for scripts that include lock.lua.
func (n redisKeys) allKeys() []string {
	p := n.partPrefix()
	if n.kind == driver.Semaphore {
		return []string{n.value, n.token, p + partPermitsQueue, p + partPermitsHolders, p + partPermitsInfo}
	}
	return []string{n.value, n.token, p + partQueue, p + partHolders, p + partInfo}
}

// data returns the key of the data of a lock.
func (n redisKeys) data() string { return n.partPrefix() + partData }

// valueAndToken returns the keys of the value and the token.
func (n redisKeys) valueAndToken() []string { return []string{n.value, n.token} }

// parseKey returns the name that a Redis key belongs to, and the key's last part, which is "" for the value of a lock.
func parseKey(prefix, key string) (k driver.Key, part string, ok bool) {
	value, beside := key, false
	if strings.HasPrefix(key, "{") {
		tag, after, _ := strings.Cut(key[1:], "}")
		beside = true
		at := strings.LastIndexByte(after, ':')
		if at < 0 {
			return k, "", false
		}
		value, part = tag+after[:at], after[at+1:]
		if at > 0 {
			value = after[:at]
		}
	}
	name, ok := strings.CutPrefix(value, prefix)
	if !ok || name == "" {
		return k, "", false
	}
	k = driver.Key{Kind: driver.Lock, Name: name}
	switch part {
	case partPermits, partPermitsQueue, partPermitsHolders, partPermitsInfo:
		k.Kind = driver.Semaphore
	case partLatch:
		k.Kind = driver.Latch
	case partToken, partQueue, partHolders, partInfo:
	default:
		if beside {
			return k, "", false
		}
	}
	return k, part, true
}

// errOwner refuses an owner that the scripts could not tell from others. An empty one would be nobody's, like what a
// release keeps.
var errOwner = driver.Permanent(errors.New("redis: the owner is empty or not printable ASCII: " +
	"give each attempt an owner as the contract of engines says"))

// checkOwner refuses an owner that is empty or does not fit on one line.
func checkOwner(owner string) error {
	for i := range len(owner) {
		if owner[i] < ' ' || owner[i] > '~' {
			return errOwner
		}
	}
	if owner == "" {
		return errOwner
	}
	return nil
}
