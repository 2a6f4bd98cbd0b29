package leasehold

import (
	"crypto/rand"
	"encoding/base64"
)

// newOwner returns 160 bits that nobody can guess, as text. Whoever knows an owner can release
// what it holds, so it goes to the engine and nowhere else.
func newOwner() string {
	var b [20]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}
