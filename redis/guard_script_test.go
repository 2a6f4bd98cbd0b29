package redis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// guarded runs guard.lua as several servers, on one marker.
type guarded struct {
	t      *testing.T
	server *redisserver.Server
	marker string
}

// as runs the script as the server with an identity, for an engine with some longest ttl, and returns for how long grants stay closed.
// Another server was in its place a while ago; negative if there was none.
func (g guarded) as(identity string, longest, away time.Duration) time.Duration {
	g.t.Helper()
	c := config{prefix: DefaultPrefix, maxTTL: longest}
	words := []string{"EVAL", c.assemble(identity, false).text[guard], "1", g.marker}
	for _, arg := range c.guardArgs(away) {
		words = append(words, fmt.Sprint(arg))
	}
	reply, err := g.server.Command(words...)
	m, err := readMark(reply, err)
	if err != nil {
		g.t.Fatal(err)
	}
	if fields := strings.Fields(command(g.t, g.server, "GET", g.marker)); fields[0] != identity || (fields[1] == "open") != (m.left == 0) {
		g.t.Errorf("closed for %v, and the marker is %q", m.left, fields)
	}
	return m.left
}

// is is as for a server that nobody takes for another one.
func (g guarded) is(identity string, longest time.Duration) time.Duration {
	g.t.Helper()
	return g.as(identity, longest, -1)
}

// left writes what an engine has left behind: since when, as seen from now.
func (g guarded) left(identity, state string, ago, longest time.Duration, by ...string) {
	g.t.Helper()
	text := fmt.Sprintf("%s %s %d %d -", identity, state, time.Now().Add(-ago).UnixMilli(), longest.Milliseconds())
	command(g.t, g.server, "SET", g.marker, strings.Join(append([]string{text}, by...), " "))
}

// opens runs guard_open.lua.
func (g guarded) opens(identity string, longest time.Duration) {
	g.t.Helper()
	c := config{prefix: DefaultPrefix}
	command(g.t, g.server, "EVAL", c.assemble(identity, false).text[guardOpen], "1", g.marker, ms(longest), "somebody: a reason", "")
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// closed fails the test unless grants are closed for so long, less what the test has taken.
func (g guarded) closed(is, want time.Duration) {
	g.t.Helper()
	if is > want || is < want-20*time.Second || want > 0 && is == 0 {
		g.t.Errorf("grants are closed for %v, want %v", is, want)
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	const (
		longest = time.Hour
		longer  = 3 * time.Hour
		day     = 24 * time.Hour
		never   = -1
	)
	for name, check := range map[string]func(g guarded){
		"a server without a marker may be a spare, or have lost everything": func(g guarded) {
			g.closed(g.is("a", longest), longest)
			g.closed(g.is("a", longest), longest)
		},
		"it opens when the longest lease has ended": func(g guarded) {
			g.left("a", "new", longest/4, longest)
			g.closed(g.is("a", longest), 3*longest/4)
			g.left("a", "new", longest, longest)
			g.closed(g.is("a", longest), 0)
		},
		"so may one whose marker is that of another": func(g guarded) {
			g.left("a", "open", day, longest)
			g.closed(g.is("b", longest), longest)
			g.closed(g.is("b", longest), longest)
		},
		"and one that another has opened": func(g guarded) {
			g.opens("a", longest)
			g.closed(g.is("b", longest), longest)
		},
		"who comes later waits no longer than the first": func(g guarded) {
			g.left("a", "other", 2*longest/3, longest)
			g.closed(g.is("a", longest), longest/3)
		},
		"what has been open stays open": func(g guarded) {
			g.left("a", "open", day, longest)
			g.closed(g.is("a", longest), 0)
		},
		"also if the clock was set back": func(g guarded) {
			g.left("a", "open", -100*longest, longest)
			g.closed(g.is("a", longest), 0)
		},
		"what is closed then stays so for no longer than a lease lasts": func(g guarded) {
			g.left("a", "new", -100*longest, longest)
			g.closed(g.is("a", longest), longest)
		},
		"longer leases of an engine that came before are waited for": func(g guarded) {
			g.left("a", "open", day, longer)
			g.closed(g.is("b", longest), longer)
			g.closed(g.is("b", longest), longer)
		},
		"those of an engine that comes later, too": func(g guarded) {
			g.left("a", "open", longest, longest)
			g.closed(g.is("a", longest), 0)
			g.closed(g.is("a", longer), longer-longest)
			g.closed(g.is("a", longest), longer-longest)
		},
		"but not where they have ended": func(g guarded) {
			g.left("a", "open", longer, longest)
			g.closed(g.is("a", longer), 0)
		},
		"who is declared open is open to all": func(g guarded) {
			g.closed(g.is("a", longest), longest)
			g.opens("a", longest)
			g.closed(g.is("a", longest), 0)
			g.closed(g.is("a", longer), 0)
			g.closed(g.is("a", longest), 0)
		},
		"a server whose place another has taken meanwhile is closed": func(g guarded) {
			g.left("a", "open", day, longest)
			g.closed(g.as("a", longest, time.Minute), longest)
			g.closed(g.is("a", longest), longest)
		},
		"also if it was declared open before": func(g guarded) {
			g.left("a", "open", day, longest, "somebody: a reason")
			g.closed(g.as("a", longest, time.Minute), longest)
		},
		"who was seen a while ago may have been there for longer, so its last leases may be missing": func(g guarded) {
			g.left("a", "other", 1500*time.Millisecond, longest)
			if left := g.as("a", longest, 2*time.Second); left != longest {
				g.t.Errorf("grants are closed for %v, want %v from now on", left, longest)
			}
		},
		"also if somebody has opened the server in that while": func(g guarded) {
			g.left("a", "open", 1500*time.Millisecond, longest, "somebody: a reason")
			g.closed(g.as("a", longest, 2*time.Second), longest)
		},
		"but not if he has opened it later": func(g guarded) {
			g.left("a", "open", time.Minute, longest, "somebody: a reason")
			g.closed(g.as("a", longest, 30*time.Minute), 0)
		},
		"it is so once, and not for each who finds out": func(g guarded) {
			g.left("a", "other", longest/2, longest)
			g.closed(g.as("a", longest, longest/2+time.Minute), longest/2)
			g.left("a", "open", 2*longest, longest)
			g.closed(g.as("a", longest, day), 0)
		},
		"a marker that cannot be read counts as none": func(g guarded) {
			command(g.t, g.server, "SET", g.marker, "a b c")
			g.closed(g.is("a", longest), longest)
		},
		"so does one of an earlier version": func(g guarded) {
			command(g.t, g.server, "SET", g.marker, "a 1 1")
			g.closed(g.is("a", longest), longest)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(guarded{t, s, name})
		})
	}
}

// mastered runs guard_master.lua as several servers, on one record.
type mastered struct {
	t      *testing.T
	server *redisserver.Server
	record string
}

// asks asks as a master with so many slots, and returns whether it had a slot since the record was made, and for how long grants stay closed there.
func (m mastered) asks(identity, epoch, ranges string, slot int, by string, marked ...string) (had bool, left time.Duration) {
	m.t.Helper()
	c := config{prefix: DefaultPrefix}
	reply, err := m.server.Command("EVAL", c.assemble(identity, true).text[guardMaster], "1", m.record, ms(time.Hour), epoch, ranges, strconv.Itoa(slot), by, strings.Join(marked, ""))
	list, err := numbers(reply, err)
	if err != nil {
		m.t.Fatal(err)
	}
	return list[0] == 1, time.Duration(list[2]) * time.Millisecond
}

// aged makes the record older than the longest lease.
func (m mastered) aged(identity, epoch, ranges string) {
	m.t.Helper()
	command(m.t, m.server, "SET", m.record, fmt.Sprintf("%s 1 %s %s %s %s", identity, ms(time.Hour), epoch, ranges, noMarkers))
}

// noMarkers says that no slot has a marker.
var noMarkers = strings.Repeat("0", slots/4)

// marks says that a slot has a marker now, or which slots have one.
func (m mastered) marks(identity string, marked string) {
	m.t.Helper()
	c := config{prefix: DefaultPrefix}
	command(m.t, m.server, "EVAL", c.assemble(identity, true).text[guardMarked], "1", m.record, marked)
}

func TestGuardOfASlotWithoutAMarker(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for name, check := range map[string]struct {
		do         func(m mastered) (bool, time.Duration)
		had, close bool
	}{
		"a master that nobody has seen is closed": {func(m mastered) (bool, time.Duration) { return m.asks("a", "1", "0-99", 7, "") }, false, true},
		"the second slot waits no longer than the first": {func(m mastered) (bool, time.Duration) {
			m.asks("a", "1", "0-99", 7, "")
			m.marks("a", noMarkers)
			return m.asks("a", "1", "0-99", 8, "")
		}, true, true},
		"but before somebody has looked for markers nothing is known of it": {func(m mastered) (bool, time.Duration) {
			m.asks("a", "1", "0-99", 7, "")
			m.marks("a", "7")
			return m.asks("a", "1", "0-99", 8, "")
		}, false, true},
		"a slot that its master has had for long is open": {func(m mastered) (bool, time.Duration) {
			m.aged("a", "1", "0-99,200-200")
			return m.asks("a", "1", "0-99,200-200", 200, "")
		}, true, false},
		"also if others have gone": {func(m mastered) (bool, time.Duration) {
			m.aged("a", "1", "0-99,200-200")
			return m.asks("a", "1", "0-50", 7, "")
		}, true, false},
		"one that it has been given is closed": {func(m mastered) (bool, time.Duration) {
			m.aged("a", "1", "0-99")
			return m.asks("a", "1", "0-100", 100, "")
		}, false, true},
		"so is one that may have been away and come back": {func(m mastered) (bool, time.Duration) {
			m.aged("a", "1", "0-99")
			return m.asks("a", "2", "0-99", 7, "")
		}, false, true},
		"and all of another life of the master": {func(m mastered) (bool, time.Duration) {
			m.aged("a", "1", "0-99")
			return m.asks("b", "1", "0-99", 7, "")
		}, false, true},
		"what is declared open is open": {func(m mastered) (bool, time.Duration) {
			m.asks("a", "1", "0-99", 7, "somebody: a reason", noMarkers)
			return m.asks("a", "1", "0-99", 8, "")
		}, true, false},
		"but not for a later life": {func(m mastered) (bool, time.Duration) {
			m.asks("a", "1", "0-99", 7, "somebody: a reason", noMarkers)
			return m.asks("b", "1", "0-99", 8, "")
		}, false, true},
		"a slot that has lost its marker is closed": {func(m mastered) (bool, time.Duration) {
			m.aged("a", "1", "0-99")
			m.marks("a", "7")
			m.marks("a", "99")
			return m.asks("a", "1", "0-99", 99, "")
		}, false, true},
		"and others are not": {func(m mastered) (bool, time.Duration) {
			m.aged("a", "1", "0-99")
			m.marks("a", "99")
			m.marks("a", "9"+noMarkers[1:])
			m.marks("a", "7")
			m.marks("a", "7")
			return m.asks("a", "1", "0-99", 98, "")
		}, true, false},
		"also one that was looked for with others": {func(m mastered) (bool, time.Duration) {
			m.aged("a", "1", "0-99")
			m.marks("a", "0a"+noMarkers[2:])
			m.marks("a", "95"+noMarkers[2:])
			return m.asks("a", "1", "0-99", 7, "")
		}, false, true},
		"once the record is made anew, somebody has to look again": {func(m mastered) (bool, time.Duration) {
			m.aged("a", "1", "0-99")
			m.asks("a", "2", "0-99", 8, "")
			return m.asks("a", "2", "0-99", 7, "")
		}, false, true},
		"one that has a marker when all are declared open": {func(m mastered) (bool, time.Duration) {
			m.asks("a", "1", "0-99", 0, "somebody: a reason", "8"+noMarkers[1:])
			return m.asks("a", "1", "0-99", 3, "")
		}, false, true},
		"a record of an earlier version counts as none": {func(m mastered) (bool, time.Duration) {
			command(m.t, m.server, "SET", m.record, "a 1 1 1 0-99")
			return m.asks("a", "1", "0-99", 7, "")
		}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			had, left := check.do(mastered{t, s, name})
			if had != check.had || (left > 0) != check.close {
				t.Errorf("had it: %v, closed for %v; want %v, closed: %v", had, left, check.had, check.close)
			}
		})
	}
}
