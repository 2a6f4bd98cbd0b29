package draw

import (
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/screen"
)

// cell is one letter of a lane.
type cell struct {
	kind     cellKind
	conflict bool // two clients believe that they hold the lock
}

// cellKind says what a cell shows: a timeline.State, a timeline.EventKind, or one of these. "" is nothing.
type cellKind string

const (
	idle      cellKind = "quiet" // nothing happens
	heldTwice cellKind = "twice" // two clients believe that they hold the lock
)

// appearance is how a cell looks.
type appearance struct {
	unicode, ascii string // its letter
	color          screen.Color
}

// appearances are those of all kinds of cells.
var appearances = map[cellKind]appearance{
	"":                          {" ", " ", ""},
	idle:                        {"─", "-", screen.Dim},
	heldTwice:                   {"^", "^", screen.Red},
	cellKind(timeline.Waits):    {"·", ".", screen.Dim},
	cellKind(timeline.Holds):    {"█", "=", screen.Blue},
	cellKind(timeline.Stopped):  {"░", "~", screen.Yellow},
	cellKind(timeline.Down):     {" ", " ", ""},
	cellKind(timeline.Closed):   {"▒", ":", screen.Yellow},
	cellKind(timeline.Accepted): {"✓", "+", screen.Green},
	cellKind(timeline.Lost):     {"!", "!", screen.Bold + ";" + screen.Red},
	cellKind(timeline.Refused):  {"✗", "x", screen.Green},
	cellKind(timeline.Dies):     {"†", "#", screen.Red},
	cellKind(timeline.Hangs):    {"»", ">", screen.Bold + ";" + screen.Red},
	cellKind(timeline.Note):     {"•", "*", screen.Yellow},
}
