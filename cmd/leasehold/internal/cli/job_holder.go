//go:build unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/internal/holdertext"
)

// maxLabel is the length of the longest label in bytes: longer ones have no class of their own in the metrics of
// leasehold exporter.
const maxLabel = 128

// checkLabel refuses a label that others cannot see as it is, or that looks like a password.
func checkLabel(label string) error {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case label == "" || len(label) > maxLabel || !utf8.ValidString(label) || strings.ContainsFunc(label, hidden),
		strings.TrimSpace(label) != label:
		return fmt.Errorf("the label is not allowed: it must be 1 to %d bytes of printable UTF-8 that do not begin or "+
			"end with a space", maxLabel)
	case engine.HoldsPassword(label):
		return errors.New("the label looks like the URL of an engine, with a user or a password, and everybody who " +
			"lists locks would see it")
	}
	return nil
}

// holder returns what others see of this run: the program without its arguments, which may have secrets.
func (j job) holder() holdertext.Process { return holdertext.OfJob(userName(), j.argv[0], j.label) }

// userNameTimeout is how long a run may take to find out its user's name: a directory server may be asked for it.
const userNameTimeout = time.Second

// userName returns the name of the user that runs this process, or its number if the name cannot be found out soon.
var userName = sync.OnceValue(func() string {
	id := strconv.Itoa(os.Getuid())
	found := make(chan string, 1)
	go func() {
		if u, err := user.LookupId(id); err == nil && u.Username != "" {
			found <- u.Username
			return
		}
		found <- id
	}()
	select {
	case name := <-found:
		return name
	case <-time.After(userNameTimeout):
		return id
	}
})
