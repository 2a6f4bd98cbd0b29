package redis

import (
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

// errOwner is the answer to an owner that the scripts could not tell from others. That of nobody is none: so is what is kept after a release.
var errOwner = driver.Permanent(errors.New("redis: the owner is empty or not printable ASCII: give each attempt an owner as the contract of engines says"))

// checkOwner refuses an owner that cannot stand in a line of its own.
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
