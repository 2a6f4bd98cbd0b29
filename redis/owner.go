package redis

import (
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

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
