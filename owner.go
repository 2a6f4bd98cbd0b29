package leasehold

import (
	"crypto/rand"
	"encoding/base64"
)

// newOwner returns 160 random bits as text. An owner is enough to release what it holds, so it is sent to the
// engine and nowhere else.
func newOwner() string {
	var b [20]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}
