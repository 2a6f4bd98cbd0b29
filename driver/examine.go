package driver

import (
	"fmt"
	"time"
)

// Examination is the result of Examine.
type Examination struct {
	// Servers are the servers, nodes or the file that keep the locks, always in the same order.
	Servers []Server
	// Findings are the problems that were found. It is empty if there are none.
	Findings []Finding
	// Majority: the engine needs a majority of the servers with Server.Votes, not each of them.
	Majority bool
}

// Server is a server, a node or a file that keeps locks.
type Server struct {
	// Name identifies the server, as in "10.0.0.1:6379" or the path of a file. It contains no
	// password.
	Name string
	// Role is the role of the server, as in "master", "replica", "leader"; empty if servers of this
	// engine have no roles.
	Role string
	// Version is the version of the server, as in "7.0.15" or "Valkey 8.1.8"; empty if it has none.
	Version string
	// Votes reports whether this server grants leases. It is false for a replica.
	Votes bool
	// Uptime is how long the server has run, as the server reports it; negative if not known.
	Uptime time.Duration
	// RoundTrip is how long a small request took: the shortest of several measurements. Negative if
	// not known.
	RoundTrip time.Duration
	// Ahead is how far the server's clock is ahead of this machine's, with an uncertainty of half
	// the round trip. HasClock is false if the server has no clock of its own, or does not tell the
	// time.
	Ahead    time.Duration
	HasClock bool
	// Closed is roughly how much longer the server grants nothing to anybody because it was
	// restarted; 0 if it grants.
	Closed time.Duration
	// Err says why nothing is known about the server; nil if something is. It is an ErrSilent if
	// the server did not answer in time.
	Err error
}

// Finding is a problem, or a fact that an operator should know.
type Finding struct {
	Severity Severity
	// Code identifies the kind of finding for programs: words with hyphens, as in
	// "eviction-policy". It never changes.
	Code string
	// Server is the name of the server that the finding is about, or empty.
	Server string
	// Text says what was found, and which promise it endangers.
	Text string
	// Fix says how to fix it.
	Fix string
}

// Severity is how bad a finding is.
type Severity uint8

const (
	// Note: nothing is wrong, but an operator should know.
	Note Severity = iota + 1
	// Warning: locks work, but a fault that can be expected would break a promise, or cost much
	// time.
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
