package redisson

import "encoding/binary"

// OwnerID is for tests that look at what the server has.
func OwnerID(owner string) string { return ownerID(owner) }

// PermitID returns the id of one of the permits of an owner, counted from 1.
func PermitID(owner string, i int) string {
	return string(binary.BigEndian.AppendUint32([]byte(permitOwner(owner)), uint32(i)))
}
