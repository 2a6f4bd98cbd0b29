package redis

import (
	"strconv"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// names are the keys of one thing, all in one slot of a Cluster.
//
// The value of a lock is <prefix><name>, where other clients look for it. Everything else stands beside it under
// a hash tag that leads to the same slot: {<prefix><name>}:token and so on. If the name has a hash tag of its
// own ("{user:7}:cart"), or braces that would cut ours short, the tag is another one and the whole of the value's
// key stands behind it: {user:7}lock:{user:7}:cart:token.
type names struct {
	value  string
	beside string // begins all other keys
	token  string
	tag    string
	kind   driver.Kind
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
	// What hardly any name needs not to be so is made in one piece of memory.
	token := "{" + e.prefix + k.Name + "}:" + partToken
	value := token[1 : len(token)-len("}:"+partToken)]
	tag := tagOf(value)
	if tag != value {
		token = "{" + tag + "}" + value + ":" + partToken
	}
	n := names{value: value, beside: token[:len(token)-len(partToken)], token: token, tag: tag, kind: k.Kind}
	switch k.Kind {
	case driver.Semaphore:
		n.value = n.beside + partPermits
	case driver.Latch:
		n.value = n.beside + partLatch
	}
	return n
}

// slot is where a Cluster keeps them.
func (n names) slot() uint16 { return crc16(n.tag) % slots }

// all are the keys that the scripts want that use entry.lua.
func (n names) all() []string {
	if n.kind == driver.Semaphore {
		return []string{n.value, n.token, n.beside + partPermitsQueue, n.beside + partPermitsHolders, n.beside + partPermitsInfo}
	}
	return []string{n.value, n.token, n.beside + partQueue, n.beside + partHolders, n.beside + partInfo}
}

// counted are the value and the token.
func (n names) counted() []string { return []string{n.value, n.token} }

// tagOf returns a hash tag that leads to the slot of key.
func tagOf(key string) string {
	tag := hashTag(key)
	if strings.Contains(tag, "}") { // the key has no tag, and cannot be one either
		return anchors()[crc16(tag)%slots]
	}
	return tag
}

// slots is how many hash slots a Cluster has.
const slots = 16384

// hashTag returns the part of a key that decides on its slot: what stands between the first { and the next },
// unless that is nothing. See https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags.
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

// anchors are short texts, one in each slot.
var anchors = sync.OnceValue(func() *[slots]string {
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

// parseKey returns what a key of this engine belongs to and its last part, "" for the value of a lock.
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
