package redis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// markerTest runs guard.lua as several servers, on one marker.
type markerTest struct {
	t      *testing.T
	server *redisserver.Server
	marker string
}

// runAfterOther runs the script as the server with an identity, for an engine with some longest ttl, and returns for
// how long grants stay closed. Another server was seen at its address this long ago; negative if there was none.
func (mt markerTest) runAfterOther(identity string, longest, sinceOther time.Duration) time.Duration {
	mt.t.Helper()
	c := config{prefix: DefaultPrefix, maxTTL: longest}
	words := []string{"EVAL", c.newScriptSet(identity, false).text[scriptGuard], "1", mt.marker}
	for _, arg := range c.guardArgs(sinceOther) {
		words = append(words, fmt.Sprint(arg))
	}
	reply, err := mt.server.Command(words...)
	m, err := readMarkerReply(reply, err)
	if err != nil {
		mt.t.Fatal(err)
	}
	if fields := strings.Fields(command(mt.t, mt.server, "GET", mt.marker)); fields[0] != identity ||
		(fields[1] == "open") != (m.closedFor == 0) {
		mt.t.Errorf("closed for %v, and the marker is %q", m.closedFor, fields)
	}
	return m.closedFor
}

// run is runAfterOther for a server whose address no other server has had.
func (mt markerTest) run(identity string, longest time.Duration) time.Duration {
	mt.t.Helper()
	return mt.runAfterOther(identity, longest, -1)
}

// setMarker writes the marker that an engine wrote this long ago.
func (mt markerTest) setMarker(identity, state string, ago, longest time.Duration, by ...string) {
	mt.t.Helper()
	text := fmt.Sprintf("%s %s %d %d -", identity, state, time.Now().Add(-ago).UnixMilli(), longest.Milliseconds())
	command(mt.t, mt.server, "SET", mt.marker, strings.Join(append([]string{text}, by...), " "))
}

// open runs guard_open.lua.
func (mt markerTest) open(identity string, longest time.Duration) {
	mt.t.Helper()
	c := config{prefix: DefaultPrefix}
	command(mt.t, mt.server, "EVAL", c.newScriptSet(identity, false).text[scriptGuardOpen], "1", mt.marker, ms(longest),
		"somebody: a reason", "")
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// checkClosed fails the test unless grants are closed for this time, less what the test has taken.
func (mt markerTest) checkClosed(is, want time.Duration) {
	mt.t.Helper()
	if is > want || is < want-20*time.Second || want > 0 && is == 0 {
		mt.t.Errorf("grants are closed for %v, want %v", is, want)
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
	for name, check := range map[string]func(mt markerTest){
		"a server without a marker may be a spare, or have lost everything": func(mt markerTest) {
			mt.checkClosed(mt.run("a", longest), longest)
			mt.checkClosed(mt.run("a", longest), longest)
		},
		"it opens when the longest lease has ended": func(mt markerTest) {
			mt.setMarker("a", "new", longest/4, longest)
			mt.checkClosed(mt.run("a", longest), 3*longest/4)
			mt.setMarker("a", "new", longest, longest)
			mt.checkClosed(mt.run("a", longest), 0)
		},
		"so may a server that has the marker of another": func(mt markerTest) {
			mt.setMarker("a", "open", day, longest)
			mt.checkClosed(mt.run("b", longest), longest)
			mt.checkClosed(mt.run("b", longest), longest)
		},
		"so may a server whose marker says that another was opened": func(mt markerTest) {
			mt.open("a", longest)
			mt.checkClosed(mt.run("b", longest), longest)
		},
		"a later engine waits no longer than the first": func(mt markerTest) {
			mt.setMarker("a", "other", 2*longest/3, longest)
			mt.checkClosed(mt.run("a", longest), longest/3)
		},
		"what has been open stays open": func(mt markerTest) {
			mt.setMarker("a", "open", day, longest)
			mt.checkClosed(mt.run("a", longest), 0)
		},
		"it does even if the clock was set back": func(mt markerTest) {
			mt.setMarker("a", "open", -100*longest, longest)
			mt.checkClosed(mt.run("a", longest), 0)
		},
		"a server that is closed then stays so for no longer than a lease lasts": func(mt markerTest) {
			mt.setMarker("a", "new", -100*longest, longest)
			mt.checkClosed(mt.run("a", longest), longest)
		},
		"grants stay closed for the longer leases of an earlier engine": func(mt markerTest) {
			mt.setMarker("a", "open", day, longer)
			mt.checkClosed(mt.run("b", longest), longer)
			mt.checkClosed(mt.run("b", longest), longer)
		},
		"they are closed for the longer leases of a later engine": func(mt markerTest) {
			mt.setMarker("a", "open", longest, longest)
			mt.checkClosed(mt.run("a", longest), 0)
			mt.checkClosed(mt.run("a", longer), longer-longest)
			mt.checkClosed(mt.run("a", longest), longer-longest)
		},
		"they are not if these have ended": func(mt markerTest) {
			mt.setMarker("a", "open", longer, longest)
			mt.checkClosed(mt.run("a", longer), 0)
		},
		"a server that is declared open is open to all": func(mt markerTest) {
			mt.checkClosed(mt.run("a", longest), longest)
			mt.open("a", longest)
			mt.checkClosed(mt.run("a", longest), 0)
			mt.checkClosed(mt.run("a", longer), 0)
			mt.checkClosed(mt.run("a", longest), 0)
		},
		"a server that was replaced by another meanwhile is closed": func(mt markerTest) {
			mt.setMarker("a", "open", day, longest)
			mt.checkClosed(mt.runAfterOther("a", longest, time.Minute), longest)
			mt.checkClosed(mt.run("a", longest), longest)
		},
		"it is even if it was declared open before": func(mt markerTest) {
			mt.setMarker("a", "open", day, longest, "somebody: a reason")
			mt.checkClosed(mt.runAfterOther("a", longest, time.Minute), longest)
		},
		"leases may be missing of a server that was there longer than it was seen": func(mt markerTest) {
			mt.setMarker("a", "other", 1500*time.Millisecond, longest)
			if left := mt.runAfterOther("a", longest, 2*time.Second); left != longest {
				mt.t.Errorf("grants are closed for %v, want %v from now on", left, longest)
			}
		},
		"they may even if an operator has opened the server in that while": func(mt markerTest) {
			mt.setMarker("a", "open", 1500*time.Millisecond, longest, "somebody: a reason")
			mt.checkClosed(mt.runAfterOther("a", longest, 2*time.Second), longest)
		},
		"they are not if the operator has opened it later": func(mt markerTest) {
			mt.setMarker("a", "open", time.Minute, longest, "somebody: a reason")
			mt.checkClosed(mt.runAfterOther("a", longest, 30*time.Minute), 0)
		},
		"a replacement counts once, and not for each engine that sees it": func(mt markerTest) {
			mt.setMarker("a", "other", longest/2, longest)
			mt.checkClosed(mt.runAfterOther("a", longest, longest/2+time.Minute), longest/2)
			mt.setMarker("a", "open", 2*longest, longest)
			mt.checkClosed(mt.runAfterOther("a", longest, day), 0)
		},
		"a marker that cannot be read counts as none": func(mt markerTest) {
			command(mt.t, mt.server, "SET", mt.marker, "a b c")
			mt.checkClosed(mt.run("a", longest), longest)
		},
		"so does a marker of an earlier version": func(mt markerTest) {
			command(mt.t, mt.server, "SET", mt.marker, "a 1 1")
			mt.checkClosed(mt.run("a", longest), longest)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(markerTest{t, s, name})
		})
	}
}

// masterRecordTest runs guard_slots.lua as several servers, on one record.
type masterRecordTest struct {
	t      *testing.T
	server *redisserver.Server
	record string
}

// ask asks as a master with these slots. It returns whether the master has had a slot since the record was written, and
// for how long grants stay closed there.
func (m masterRecordTest) ask(identity, epoch, ranges string, slot int, by string, marked ...string) (
	had bool, left time.Duration,
) {
	m.t.Helper()
	c := config{prefix: DefaultPrefix}
	reply, err := m.server.Command("EVAL", c.newScriptSet(identity, true).text[scriptGuardSlots], "1", m.record,
		ms(time.Hour), epoch, ranges, strconv.Itoa(slot), by, strings.Join(marked, ""))
	list, err := readNumbers(reply, err)
	if err != nil {
		m.t.Fatal(err)
	}
	return list[0] == 1, time.Duration(list[2]) * time.Millisecond
}

// makeOld makes the record older than the longest lease.
func (m masterRecordTest) makeOld(identity, epoch, ranges string) {
	m.t.Helper()
	command(m.t, m.server, "SET", m.record, fmt.Sprintf("%s 1 %s %s %s %s", identity, ms(time.Hour), epoch, ranges,
		noMarkers))
}

// noMarkers says that no slot has a marker.
var noMarkers = strings.Repeat("0", slots/4)

// markSlots says that a slot has a marker now, or which slots have one.
func (m masterRecordTest) markSlots(identity string, marked string) {
	m.t.Helper()
	c := config{prefix: DefaultPrefix}
	command(m.t, m.server, "EVAL", c.newScriptSet(identity, true).text[scriptGuardSlotsMarked], "1", m.record, marked)
}

func TestGuardOfASlotWithoutAMarker(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for name, check := range map[string]struct {
		do         func(m masterRecordTest) (bool, time.Duration)
		had, close bool
	}{
		"a master without a record of earlier use is closed": {func(m masterRecordTest) (bool, time.Duration) {
			return m.ask("a", "1", "0-99", 7, "")
		}, false, true},
		"the second slot waits no longer than the first": {func(m masterRecordTest) (bool, time.Duration) {
			m.ask("a", "1", "0-99", 7, "")
			m.markSlots("a", noMarkers)
			return m.ask("a", "1", "0-99", 8, "")
		}, true, true},
		"nothing is known of it before the markers were searched": {func(m masterRecordTest) (bool, time.Duration) {
			m.ask("a", "1", "0-99", 7, "")
			m.markSlots("a", "7")
			return m.ask("a", "1", "0-99", 8, "")
		}, false, true},
		"a slot that its master has had for a long time is open": {func(m masterRecordTest) (bool, time.Duration) {
			m.makeOld("a", "1", "0-99,200-200")
			return m.ask("a", "1", "0-99,200-200", 200, "")
		}, true, false},
		"it is even if other slots have gone": {func(m masterRecordTest) (bool, time.Duration) {
			m.makeOld("a", "1", "0-99,200-200")
			return m.ask("a", "1", "0-50", 7, "")
		}, true, false},
		"a slot that it was given is closed": {func(m masterRecordTest) (bool, time.Duration) {
			m.makeOld("a", "1", "0-99")
			return m.ask("a", "1", "0-100", 100, "")
		}, false, true},
		"so is a slot that may have left and come back": {func(m masterRecordTest) (bool, time.Duration) {
			m.makeOld("a", "1", "0-99")
			return m.ask("a", "2", "0-99", 7, "")
		}, false, true},
		"so are all slots after a restart of the master": {func(m masterRecordTest) (bool, time.Duration) {
			m.makeOld("a", "1", "0-99")
			return m.ask("b", "1", "0-99", 7, "")
		}, false, true},
		"a slot that is declared open is open": {func(m masterRecordTest) (bool, time.Duration) {
			m.ask("a", "1", "0-99", 7, "somebody: a reason", noMarkers)
			return m.ask("a", "1", "0-99", 8, "")
		}, true, false},
		"it is not after a restart": {func(m masterRecordTest) (bool, time.Duration) {
			m.ask("a", "1", "0-99", 7, "somebody: a reason", noMarkers)
			return m.ask("b", "1", "0-99", 8, "")
		}, false, true},
		"a slot that has lost its marker is closed": {func(m masterRecordTest) (bool, time.Duration) {
			m.makeOld("a", "1", "0-99")
			m.markSlots("a", "7")
			m.markSlots("a", "99")
			return m.ask("a", "1", "0-99", 99, "")
		}, false, true},
		"other slots are not": {func(m masterRecordTest) (bool, time.Duration) {
			m.makeOld("a", "1", "0-99")
			m.markSlots("a", "99")
			m.markSlots("a", "9"+noMarkers[1:])
			m.markSlots("a", "7")
			m.markSlots("a", "7")
			return m.ask("a", "1", "0-99", 98, "")
		}, true, false},
		"so is a slot whose marker was searched together with others": {func(m masterRecordTest) (bool, time.Duration) {
			m.makeOld("a", "1", "0-99")
			m.markSlots("a", "0a"+noMarkers[2:])
			m.markSlots("a", "95"+noMarkers[2:])
			return m.ask("a", "1", "0-99", 7, "")
		}, false, true},
		"a new record lists no markers": {func(m masterRecordTest) (bool, time.Duration) {
			m.makeOld("a", "1", "0-99")
			m.ask("a", "2", "0-99", 8, "")
			return m.ask("a", "2", "0-99", 7, "")
		}, false, true},
		"so is a slot that had a marker when all were declared open": {func(m masterRecordTest) (bool, time.Duration) {
			m.ask("a", "1", "0-99", 0, "somebody: a reason", "8"+noMarkers[1:])
			return m.ask("a", "1", "0-99", 3, "")
		}, false, true},
		"a record of an earlier version counts as none": {func(m masterRecordTest) (bool, time.Duration) {
			command(m.t, m.server, "SET", m.record, "a 1 1 1 0-99")
			return m.ask("a", "1", "0-99", 7, "")
		}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			had, left := check.do(masterRecordTest{t, s, name})
			if had != check.had || (left > 0) != check.close {
				t.Errorf("had the slot: %v, closed for %v; want %v, closed: %v", had, left, check.had, check.close)
			}
		})
	}
}
