//go:build !race

package leasehold

const raceEnabled = false
