package redis

import (
	"errors"
	"strconv"
	"time"

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

// nowMicros returns the client's clock in microseconds, as tokens count it. A clock that was never set may stand before
// 1970.
func nowMicros() int64 { return max(time.Now().UnixMicro(), 1) }

// floorArg returns the smallest token that may be granted now, for the scripts.
func floorArg() string { return strconv.FormatInt(nowMicros(), 10) }

// placeArg converts a place in the queue for the scripts.
func placeArg(place, owner string) string {
	if place == owner {
		return ""
	}
	return place
}

// flagArg converts a bool for the scripts.
func flagArg(b bool) string {
	if b {
		return "1"
	}
	return ""
}
