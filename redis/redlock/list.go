package redlock

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// Two majorities have a server in common if they are majorities of the same servers. So each server has a word in its
// marker that says to which list it belongs, and its votes count together only with those of servers that have the
// same word, and are as many as the list has.
//
// The word is how many servers the list has, and a hash of how the first program wrote them. It is only a name for
// the list: programs that write the same servers in another way find the word on all of them and use it. But which
// server is meant by a name they cannot tell, so it takes a program that writes the list like the first one to put a
// server into it that has lost its marker, or was replaced.

const (
	noList   = "-" // the word of a server that belongs to none
	changing = "?" // stands in a word between the list before and the next one: the server votes in neither
)

// OtherListError says that a server belongs to another list of servers than this program names, or than the other
// servers that it names. Each list could have a majority that the other knows nothing of. So nothing is granted or
// renewed until all servers that can be reached belong to one list, with as many servers as this program names.
type OtherListError struct {
	// Server belongs to another list.
	Server string
	// What is wrong, as in "belongs to a list of 3 servers, and this one has 5".
	What string
}

// Error implements error.
func (e *OtherListError) Error() string {
	return fmt.Sprintf("redlock engine: %s %s: name the same servers in all programs; if they were changed, say so once with `leasehold open --change-nodes`",
		e.Server, e.What)
}

// wordOf is the word for a list that is written in some way.
func wordOf(names []string) string {
	sorted := make([]string, len(names))
	for i, name := range names {
		sorted[i] = canonical(name)
	}
	slices.Sort(sorted)
	sum := sha256.Sum256([]byte(strings.Join(sorted, "\n")))
	return strconv.Itoa(len(names)) + "-" + hex.EncodeToString(sum[:12])
}

// canonical is a host with its port, as New and Open have it.
func canonical(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	if _, _, err := net.SplitHostPort(name); err != nil {
		name = net.JoinHostPort(strings.Trim(name, "[]"), "6379")
	}
	return strings.ToLower(name)
}

// list is what is known of the list to which the servers of an engine belong.
type list struct {
	size int
	own  string // the word for it as this program writes it; empty if it does not know what the servers are called

	mu    sync.Mutex
	words map[string]string // what each server has said last, by its name in errors
	word  string            // of all servers; empty while it is not known
	other *OtherListError   // why nothing may be granted
}

// saw notes what a server says.
func (l *list) saw(server, word string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.words[server] == word {
		return
	}
	if l.words == nil {
		l.words = map[string]string{}
	}
	l.words[server] = word
	l.word, l.other = "", nil
	first := ""
	for _, name := range slices.Sorted(maps.Keys(l.words)) {
		switch word := l.words[name]; {
		case word == noList || strings.Contains(word, changing):
		case l.word == "":
			l.word, first = word, name
		case word != l.word && l.other == nil:
			l.other = &OtherListError{name, "belongs to another list of servers than " + first}
		}
	}
	if n, _, _ := strings.Cut(l.word, "-"); l.word != "" && l.other == nil && n != strconv.Itoa(l.size) {
		l.other = &OtherListError{first, fmt.Sprintf("belongs to a list of %s servers, and this one has %d", n, l.size)}
	}
}

// refused is why a server with a word may not vote, and nil if it may.
func (l *list) refused(server, word string) error {
	l.saw(server, word)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.other != nil:
		return driver.Permanent(l.other)
	case word == noList:
		return errNoList
	case strings.Contains(word, changing):
		return errChanging
	}
	return nil
}

// refusal is refused for what a server has said last. One that belongs to no list will when it is asked for
// something.
func (l *list) refusal(server string) error {
	l.mu.Lock()
	word := l.words[server]
	l.mu.Unlock()
	if word == "" || word == noList {
		return nil
	}
	return l.refused(server, word)
}

// wants returns the word for servers without one: that of the others, or if none has any, that of this program. It is
// an error if it is not known whether they belong to the list that this program means.
func (l *list) wants() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.other != nil:
		return "", driver.Permanent(l.other)
	case len(l.words) < l.size/2+1:
		return "", driver.NoEffect(fmt.Errorf("redlock engine: %d of %d servers have said to which list they belong, and a majority must", len(l.words), l.size))
	case l.own == "":
		return "", errNameless
	case l.word != "" && l.word != l.own:
		return "", errNoList
	}
	return l.own, nil
}

// outside returns a server that belongs to no list and cannot come into the one of the others, if there are so many
// that no majority is left.
func (l *list) outside() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.other != nil {
		return l.other
	}
	if l.word == "" || l.word == l.own {
		return nil
	}
	var all []string
	for name, word := range l.words {
		if word == noList {
			all = append(all, name)
		}
	}
	if len(all) <= l.size-(l.size/2+1) {
		return nil
	}
	slices.Sort(all)
	return &OtherListError{strings.Join(all, ", "), "do not belong to the list of the others"}
}

var (
	errNoList = driver.NoEffect(errors.New("redlock engine: the server belongs to no list of servers, while the others do: it is new, has lost its data, or other programs name another one; " +
		"`leasehold doctor` tells"))
	errNameless = driver.NoEffect(errors.New("redlock engine: the server belongs to no list of servers yet, and this program cannot say what the servers are called, as its clients do not show " +
		"it: run `leasehold open` once"))
	errChanging = driver.NoEffect(errors.New("redlock engine: the list of servers is being changed: if that was broken off, run `leasehold open --change-nodes` again"))
)
