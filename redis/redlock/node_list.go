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

// Two majorities are sure to have a server in common only if they are majorities of the same servers. So the
// marker of each server has a list hash, which says to which node list the server belongs. Its vote counts
// together only with the votes of servers with the same hash, of which there must be as many as the list has.
//
// A list hash is the number of servers in the list, and a hash of how the first program wrote them. It is only a name
// for the list: programs that write the same servers in another way find the hash on all of them and use it. But they
// cannot tell which server a name means. So a server that has lost its marker, or was replaced, is put into the list
// only by a program that writes the list like the first one.

const (
	noListHash   = "-" // of a server that belongs to no list
	changingMark = "?" // between the old and the new hash of a server that is changing its list, and votes in neither
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
	return fmt.Sprintf("redlock engine: %s %s: name the same servers in all programs; "+
		"if they were changed, run `leasehold open --change-nodes` once", e.Server, e.What)
}

// listHash is the hash for a list that is written in some way.
func listHash(names []string) string {
	sorted := make([]string, len(names))
	for i, name := range names {
		sorted[i] = canonicalAddress(name)
	}
	slices.Sort(sorted)
	sum := sha256.Sum256([]byte(strings.Join(sorted, "\n")))
	return strconv.Itoa(len(names)) + "-" + hex.EncodeToString(sum[:12])
}

// canonicalAddress is a host with its port, or the path of a socket, so that New and Open write the same.
func canonicalAddress(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	if _, _, err := net.SplitHostPort(name); err != nil {
		name = net.JoinHostPort(strings.Trim(name, "[]"), "6379")
	}
	return strings.ToLower(name)
}

// nodeList is what is known of the list to which the servers of an engine belong.
type nodeList struct {
	size    int
	ownHash string // as this program writes the list; empty if it does not know what the servers are called

	mu         sync.Mutex
	hashes     map[string]string // what each server has said last, by its name in errors
	commonHash string            // of all servers; empty while it is not known
	other      *OtherListError   // why nothing may be granted
}

// noteHash notes the hash of a server.
func (l *nodeList) noteHash(server, hash string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hashes[server] == hash {
		return
	}
	if l.hashes == nil {
		l.hashes = map[string]string{}
	}
	l.hashes[server] = hash
	l.commonHash, l.other = "", nil
	first := ""
	for _, name := range slices.Sorted(maps.Keys(l.hashes)) {
		switch hash := l.hashes[name]; {
		case hash == noListHash || strings.Contains(hash, changingMark):
		case l.commonHash == "":
			l.commonHash, first = hash, name
		case hash != l.commonHash && l.other == nil:
			l.other = &OtherListError{name, "belongs to another list of servers than " + first}
		}
	}
	size, _, _ := strings.Cut(l.commonHash, "-")
	if l.commonHash != "" && l.other == nil && size != strconv.Itoa(l.size) {
		l.other = &OtherListError{
			first, fmt.Sprintf("belongs to a list of %s servers, and this one has %d", size, l.size)}
	}
}

// checkHash notes the hash of a server. It returns why the server may not vote, or nil.
func (l *nodeList) checkHash(server, hash string) error {
	l.noteHash(server, hash)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.other != nil:
		return driver.Permanent(l.other)
	case hash == noListHash:
		return errNoList
	case strings.Contains(hash, changingMark):
		return errChanging
	}
	return nil
}

// checkLastHash checks the last hash of a server. One that belongs to no list passes: it will join when it is asked for
// a lock.
func (l *nodeList) checkLastHash(server string) error {
	l.mu.Lock()
	hash := l.hashes[server]
	l.mu.Unlock()
	if hash == "" || hash == noListHash {
		return nil
	}
	return l.checkHash(server, hash)
}

// hashForNew returns the hash for servers without one: that of the other servers, or that of this program if none has
// any. It fails if it is not known whether they belong to the list that this program means.
func (l *nodeList) hashForNew() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.other != nil:
		return "", driver.Permanent(l.other)
	case len(l.hashes) < l.size/2+1:
		return "", driver.NoEffect(fmt.Errorf(
			"redlock engine: %d of %d servers have said to which list they belong, and a majority must",
			len(l.hashes), l.size))
	case l.ownHash == "":
		return "", errNameless
	case l.commonHash != "" && l.commonHash != l.ownHash:
		return "", errNoList
	}
	return l.ownHash, nil
}

// checkNoMajorityOutside returns an error if nothing may be granted, or if so many servers belong to no list,
// and cannot join that of the others, that no majority is left.
func (l *nodeList) checkNoMajorityOutside() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.other != nil {
		return l.other
	}
	if l.commonHash == "" || l.commonHash == l.ownHash {
		return nil
	}
	var outside []string
	for name, hash := range l.hashes {
		if hash == noListHash {
			outside = append(outside, name)
		}
	}
	if len(outside) <= l.size-(l.size/2+1) {
		return nil
	}
	slices.Sort(outside)
	return &OtherListError{strings.Join(outside, ", "), "do not belong to the list of the others"}
}

var (
	errNoList = driver.NoEffect(errors.New("redlock engine: the server belongs to no list of servers, " +
		"while the others do: it is new, has lost its data, or other programs name another one; " +
		"see `leasehold doctor`"))
	errNameless = driver.NoEffect(errors.New("redlock engine: the server belongs to no list of servers yet, " +
		"and this program cannot say what the servers are called, as its clients do not show it: " +
		"run `leasehold open` once"))
	errChanging = driver.NoEffect(errors.New("redlock engine: the list of servers is being changed: " +
		"if that was broken off, run `leasehold open --change-nodes` again"))
)
