package redisfence

import "strings"

// slot returns the slot of a Cluster in which a key is kept: CRC-16/XMODEM of its hash tag. See
// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec.
func slot(key string) int {
	var crc uint16
	for _, b := range []byte(hashTag(key)) {
		crc ^= uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	const slots = 16384
	return int(crc % slots)
}

// hashTag returns the part of a key that decides on its slot: what stands between the first { and the next }, or the
// whole key if that is nothing.
func hashTag(key string) string {
	if _, after, found := strings.Cut(key, "{"); found {
		if tag, _, found := strings.Cut(after, "}"); found && tag != "" {
			return tag
		}
	}
	return key
}
