package leasehold

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Process is what the text about a holder says if it was not set with WithHolder: the process that holds.
type Process struct {
	Host string
	PID  int
	// Program is the name of its file.
	Program string
	// Label is the class of the lock, see Label, and mostly empty.
	Label string
}

// String is the text about a holder: "host:pid program", and the label behind it if there is one.
func (p Process) String() string {
	text := p.Host + ":" + strconv.Itoa(p.PID) + " " + p.Program
	if p.Label != "" {
		text += " " + p.Label
	}
	return text
}

// ParseHolder reads the text about a holder. It is not ok of a text that was set with WithHolder, or by
// another program.
func ParseHolder(text string) (p Process, ok bool) {
	where, rest, _ := strings.Cut(text, " ")
	colon := strings.LastIndexByte(where, ':')
	if colon < 1 {
		return Process{}, false
	}
	pid, err := strconv.Atoi(where[colon+1:])
	if err != nil || pid < 1 {
		return Process{}, false
	}
	p = Process{Host: where[:colon], PID: pid}
	p.Program, p.Label, _ = strings.Cut(rest, " ")
	if p.Program == "" || p.String() != text {
		return Process{}, false
	}
	return p, true
}

// self is this process.
var self = sync.OnceValue(func() Process {
	host, _ := os.Hostname() // "" if it fails
	program := ""
	if len(os.Args) > 0 {
		program = filepath.Base(os.Args[0])
	}
	return Process{Host: word(host), PID: os.Getpid(), Program: word(program)}
})

// word makes of a text one word that does no harm on a terminal.
func word(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, text)
	if text == "" || len(text) > 255 {
		return "unknown"
	}
	return text
}

// holderOf is the public text about the holder of a lock with that label. A label that does not fit is left out.
func (c *Client) holderOf(label string) string {
	if !c.ownText && label != "" {
		if text := c.holder + " " + label; validText(text) {
			return text
		}
	}
	return c.holder
}
