package draw

import "github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"

// cell is one letter of a lane.
type cell struct {
	kind  kind
	alarm bool // two believe that they hold
}

// kind is what a cell is about: a tape.During, a tape.What, or one of these. "" is nothing.
type kind string

const (
	quiet kind = "quiet" // a lane on which nothing happens
	twice kind = "twice" // two believe that they hold
)

// look is how a cell looks.
type look struct {
	nice, plain string // its letter, and the one in ASCII
	color       string
}

// looks are those of all kinds.
var looks = map[kind]look{
	"":                  {" ", " ", ""},
	quiet:               {"─", "-", dim},
	twice:               {"^", "^", red},
	kind(tape.Waits):    {"·", ".", dim},
	kind(tape.Holds):    {"█", "=", blue},
	kind(tape.Stopped):  {"░", "~", yellow},
	kind(tape.Down):     {" ", " ", ""},
	kind(tape.Closed):   {"▒", ":", yellow},
	kind(tape.Accepted): {"✓", "+", green},
	kind(tape.Lost):     {"!", "!", bold + ";" + red},
	kind(tape.Refused):  {"✗", "x", green},
	kind(tape.Dies):     {"†", "#", red},
	kind(tape.Hangs):    {"»", ">", bold + ";" + red},
	kind(tape.Note):     {"•", "*", yellow},
}

// Colours of ANSI terminals.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
)
