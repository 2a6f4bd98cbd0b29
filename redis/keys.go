package redis

import (
	"strconv"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// names are the Redis keys of one name, all in one slot of a Cluster.
//
// The value of a lock is in the key <prefix><name>, where other clients look for it. All other keys have a hash tag
// that leads to the same slot: {<prefix><name>}:token and so on. If the name has its own hash tag ("{user:7}:cart"), or
// braces that would end ours early, another tag is used, followed by the whole key of the value:
// {user:7}lock:{user:7}:cart:token.
type names struct {
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
)

func (e *Engine) names(k driver.Key) names {
	// The common case takes one allocation: value and tag are parts of token.
	token := "{" + e.prefix + k.Name + "}:" + partToken
	value := token[1 : len(token)-len("}:"+partToken)]
	tag := hashTagFor(value)
	if tag != value {
		token = "{" + tag + "}" + value + ":" + partToken
	}
	n := names{value: value, token: token, kind: k.Kind}
	switch k.Kind {
	case driver.Semaphore:
		n.value = n.partPrefix() + partPermits
	case driver.Latch:
		n.value = n.partPrefix() + partLatch
	}
	return n
}

// partPrefix returns what begins all keys but that of the value of a lock.
func (n names) partPrefix() string { return n.token[:strings.LastIndexByte(n.token, ':')+1] }

// slot returns the hash slot of the keys in a Cluster.
func (n names) slot() uint16 { return crc16(hashTag(n.token)) % slots }

// allKeys returns the keys for scripts that include lock.lua.
func (n names) allKeys() []string {
	p := n.partPrefix()
	if n.kind == driver.Semaphore {
		return []string{n.value, n.token, p + partPermitsQueue, p + partPermitsHolders, p + partPermitsInfo}
	}
	return []string{n.value, n.token, p + partQueue, p + partHolders, p + partInfo}
}

// valueAndToken returns the keys of the value and the token.
func (n names) valueAndToken() []string { return []string{n.value, n.token} }

// hashTagFor returns a hash tag that leads to the slot of key.
func hashTagFor(key string) string {
	tag := hashTag(key)
	if strings.Contains(tag, "}") { // the key has no tag, and cannot be a tag
		return slotTags()[crc16(tag)%slots]
	}
	return tag
}

// slots is how many hash slots a Cluster has.
const slots = 16384

// hashTag returns the part of a key that determines its slot: what is between the first { and the next }, unless that
// is empty. See https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags.
func hashTag(key string) string {
	if _, after, found := strings.Cut(key, "{"); found {
		if tag, _, found := strings.Cut(after, "}"); found && tag != "" {
			return tag
		}
	}
	return key
}

// crc16 is CRC-16/XMODEM.
func crc16(s string) (crc uint16) {
	for i := range len(s) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^s[i]]
	}
	return crc
}

var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()

// slotTags are short hash tags, one for each slot.
var slotTags = sync.OnceValue(func() *[slots]string {
	var table [slots]string
	for i, missing := 0, slots; missing > 0; i++ {
		s := strconv.Itoa(i)
		if at := crc16(s) % slots; table[at] == "" {
			table[at] = s
			missing--
		}
	}
	return &table
})

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
