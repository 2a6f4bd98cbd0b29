package redisson

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Redisson calls a holder by the id of its client, a UUID, and the number of a Java thread: "<uuid>:<thread>".
// Everybody who may read the lock sees it, so it must not be the secret by which the core knows an owner.

// ownerID returns what Redisson shall call an owner of the core. No two owners look like the same thread, so a request
// that arrives late is never taken for another one.
func ownerID(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	thread := binary.BigEndian.Uint64(sum[16:]) >> 1 // Java's numbers are positive
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x:%d", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16], thread)
}

// isOwnerID reports whether a text looks like the holder of a lock of Redisson.
func isOwnerID(text string) bool {
	client, thread, found := strings.Cut(text, ":")
	if !found || len(client) != 36 || strings.Trim(client, "0123456789abcdef-") != "" {
		return false
	}
	_, err := strconv.ParseInt(thread, 10, 64)
	return err == nil
}

// foreignHolder returns what is public about a holder that another program calls so: its client, without the thread, as
// who knows both could release the lock.
func foreignHolder(ownerID string) string {
	client, _, _ := strings.Cut(ownerID, ":")
	return "Redisson client " + client
}
