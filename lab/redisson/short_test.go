//go:build !redisson

package redisson

import "time"

// hammerTime is how long each kind of object is hammered.
const hammerTime = 1500 * time.Millisecond

// beside are the versions of Redisson that run beside Go.
var beside = versions[:1]

// codecs are those with which Java plays the recordings: the default.
var codecs = []string{""}
