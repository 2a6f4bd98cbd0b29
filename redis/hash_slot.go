package redis

import (
	"strconv"
	"strings"
	"sync"
)

// slots is how many hash slots a Cluster has.
const slots = 16384

// slot returns the hash slot of the keys in a Cluster.
func (n redisKeys) slot() uint16 { return crc16(hashTag(n.token)) % slots }

// hashTagFor returns a hash tag that leads to the slot of key.
func hashTagFor(key string) string {
	tag := hashTag(key)
	if strings.Contains(tag, "}") { // the key has no tag, and cannot be a tag
		return slotTags()[crc16(tag)%slots]
	}
	return tag
}

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
