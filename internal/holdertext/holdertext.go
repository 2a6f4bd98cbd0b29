// Package holdertext is the public text that says which process holds a lock, unless a client has set its own.
package holdertext

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Process describes the process that holds a lock.
type Process struct {
	// User is the name of the user that runs it. It is there for programs under leasehold run, and otherwise empty.
	User string
	// Host is the name of the host, and PID the process id.
	Host string
	PID  int
	// Program is the name of the program's file.
	Program string
	// Label is the class of the lock (see leasehold.Label), and usually empty.
	Label string
}

// String returns the holder text: "host:pid program", with "user@" before it if the user is known, and followed by the
// label if there is one.
func (p Process) String() string {
	text := p.Host + ":" + strconv.Itoa(p.PID) + " " + p.Program
	if p.User != "" {
		text = p.User + "@" + text
	}
	if p.Label != "" {
		text += " " + p.Label
	}
	return text
}

// Parse parses a holder text. ok is false if the text was set with leasehold.WithHolder or written by another program.
func Parse(text string) (p Process, ok bool) {
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
	if at := strings.LastIndexByte(p.Host, '@'); at >= 0 {
		p.User, p.Host = p.Host[:at], p.Host[at+1:]
	}
	p.Program, p.Label, _ = strings.Cut(rest, " ")
	if p.Host == "" || p.Program == "" || p.String() != text {
		return Process{}, false
	}
	return p, true
}

// Current returns the description of this process.
var Current = sync.OnceValue(func() Process {
	host, _ := os.Hostname() // "" if it fails
	program := ""
	if len(os.Args) > 0 {
		program = filepath.Base(os.Args[0])
	}
	return Process{Host: singleWord(host), PID: os.Getpid(), Program: singleWord(program)}
})

// OfJob returns the description of a program that this process runs under a lock for a user.
func OfJob(user, program, label string) Process {
	p := Current()
	p.User, p.Program, p.Label = singleWord(user), singleWord(filepath.Base(program)), label
	return p
}

// singleWord makes a text a single word that is safe to print on a terminal.
func singleWord(text string) string {
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
