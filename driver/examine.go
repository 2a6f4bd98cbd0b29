package driver

import (
	"context"
	"fmt"
	"time"
)

// Examiner is what an engine with the ability Examine implements too.
type Examiner interface {
	// Examine asks each place where locks are kept what it is, and finds what endangers the promises of the engine there. It changes nothing. A place that
	// does not answer is told of, and is no error; it is one if nothing at all could be found out.
	//
	// What concerns all engines alike (silence, clocks, times against the ttl) the core finds in the places by itself.
	Examine(ctx context.Context) (Examination, error)
}

// Examination is what an Examiner has found out.
type Examination struct {
	// Places are where locks are kept, in an order that stays the same: servers, nodes, or a file.
	Places []Place
	// Findings are what should be looked after. There are none if all is well.
	Findings []Finding
}

// Place is somewhere locks are kept.
type Place struct {
	// Name is what the place is called, as in "10.0.0.1:6379" or the path of a file. It has no password in it.
	Name string
	// Role is what the place does, as in "master", "replica", "leader"; empty if that says nothing.
	Role string
	// Version is that of the server, as in "7.0.15" or "Valkey 8.1.8"; empty if it has none.
	Version string
	// Votes reports whether leases are granted there. It is false of a replica.
	Votes bool
	// Uptime is for how long the server has run, as it says; negative if not known.
	Uptime time.Duration
	// RoundTrip is how long it took to get an answer to a small request: the least of several. Negative if not known.
	RoundTrip time.Duration
	// Ahead is by how much the place's clock is ahead of this machine's, give or take half of the round trip. HasClock is false if the
	// place has no clock of its own, or does not tell.
	Ahead    time.Duration
	HasClock bool
	// Closed is for how much longer, about, the place grants nothing to anybody, as it was restarted; 0 if it grants.
	Closed time.Duration
	// Err is why nothing is known of the place, and nil if it is. It is an ErrSilent if there was no answer in time.
	Err error
}

// Finding is something that should be looked after.
type Finding struct {
	Severity Severity
	// Code tells findings apart, for programs: words with hyphens, as in "eviction-policy". It never changes.
	Code string
	// Place is the name of the place that it is about, or empty.
	Place string
	// Text says what was found, and which promise it endangers.
	Text string
	// Mend says what to do about it.
	Mend string
}

// Severity is how bad a finding is.
type Severity uint8

const (
	// Note: nothing is wrong, but one should know.
	Note Severity = iota + 1
	// Warning: locks work, but a fault that is to be expected would break a promise, or cost much time.
	Warning
	// Critical: a promise may be broken now, or locks do not work.
	Critical
)

// String returns "note", "warning" or "critical".
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warning:
		return "warning"
	case Critical:
		return "critical"
	}
	return fmt.Sprintf("Severity(%d)", uint8(s))
}
