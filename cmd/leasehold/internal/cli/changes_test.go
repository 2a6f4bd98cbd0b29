//go:build unix

package cli

import (
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// snapshotOf returns a snapshot of entries, taken some time ago.
func snapshotOf(ago time.Duration, all ...admin.Status) snapshot {
	s := snapshot{began: time.Now().Add(-ago), names: map[driver.Key]admin.Status{}}
	for _, e := range all {
		s.names[e.Key] = e
	}
	return s
}

func entryOf(kind driver.Kind, name string, waiting int, holders ...admin.Holder) admin.Status {
	return admin.Status{Key: driver.Key{Kind: kind, Name: name}, Waiting: waiting, Holders: holders}
}

func holds(token uint64, ttl time.Duration) admin.Holder {
	return admin.Holder{Token: token, Mode: driver.Exclusive, Weight: 1, Holder: "host:1 program", TTL: ttl}
}

func latchAt(count int) admin.Status {
	return admin.Status{Key: driver.Key{Kind: driver.Latch, Name: "l"},
		Latch: &admin.LatchState{Count: count}}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	const lock, permits = driver.Lock, driver.Semaphore
	a := func(waiting int, holders ...admin.Holder) admin.Status {
		return entryOf(lock, "a", waiting, holders...)
	}
	shared := holds(1, time.Minute)
	shared.Mode = driver.Shared
	for name, c := range map[string]struct {
		before, now snapshot
		want        []string
	}{
		"nothing": {snapshotOf(0), snapshotOf(0), nil},
		"renewed": {snapshotOf(0, a(1, holds(1, 5*time.Second))),
			snapshotOf(0, a(1, holds(1, 30*time.Second))), nil},
		"granted": {snapshotOf(0), snapshotOf(0, a(0, holds(1, time.Minute))),
			[]string{"granted  lock a  host:1 program, exclusive, token 1, ttl 1m0s"}},
		"released": {snapshotOf(time.Second, a(0, holds(1, time.Minute))), snapshotOf(0),
			[]string{"released  lock a  host:1 program, exclusive, token 1"}},
		"an endless one": {snapshotOf(time.Hour, a(0, holds(0, driver.NoTTL))), snapshotOf(0),
			[]string{"released  lock a  host:1 program, exclusive, token 0"}},
		"run out, or released": {snapshotOf(2*time.Minute, a(0, holds(1, time.Minute))), snapshotOf(0),
			[]string{"ended  lock a  host:1 program, exclusive, token 1"}},
		"handed on": {
			snapshotOf(0, a(1, holds(1, time.Minute))), snapshotOf(0, a(0, holds(2, time.Minute))),
			[]string{
				"handed on  lock a  to host:1 program, exclusive, token 2, from host:1 program, exclusive, token 1",
				"waiting  lock a  0, was 1",
			},
		},
		"one reader of two": {
			snapshotOf(0, a(0, shared, holds(2, time.Minute))), snapshotOf(0, a(0, shared, holds(3, time.Minute))),
			[]string{"released  lock a  host:1 program, exclusive, token 2",
				"granted  lock a  host:1 program, exclusive, token 3, ttl 1m0s"},
		},
		"downgraded": {
			snapshotOf(0, a(0, holds(1, time.Minute))), snapshotOf(0, a(0, shared)),
			[]string{"changed  lock a  to host:1 program, shared, token 1, from host:1 program, exclusive, token 1"},
		},
		"a permit goes to the next": {
			snapshotOf(0, entryOf(permits, "a", 0, holds(1, time.Minute))),
			snapshotOf(0, entryOf(permits, "a", 0, holds(2, time.Minute))),
			[]string{"released  semaphore a  host:1 program, 1 permit, token 1",
				"granted  semaphore a  host:1 program, 1 permit, token 2, ttl 1m0s"},
		},
		"waiters of a free name": {snapshotOf(0), snapshotOf(0, a(3)), []string{"waiting  lock a  3, was 0"}},
		"a latch is set":         {snapshotOf(0), snapshotOf(0, latchAt(3)), []string{"latch  latch l  3"}},
		"a latch counts down": {snapshotOf(0, latchAt(3)), snapshotOf(0, latchAt(0)),
			[]string{"latch  latch l  0, was 3"}},
		"a latch is forgotten": {snapshotOf(0, latchAt(3)), snapshotOf(0), []string{"forgotten  latch l  was 3"}},
		"in order": {
			snapshotOf(0, entryOf(lock, "c", 1)), snapshotOf(0, entryOf(permits, "a", 1), entryOf(lock, "b", 1)),
			[]string{"waiting  lock b  1, was 0", "waiting  lock c  0, was 1", "waiting  semaphore a  1, was 0"},
		},
	} {
		if got := linesOf(changes(&c.before, c.now)); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
	first := snapshotOf(0, a(2, holds(1, time.Minute)))
	if got, want := linesOf(changes(nil, first)),
		[]string{"held  lock a  host:1 program, exclusive, token 1, ttl 1m0s", "waiting  lock a  2"}; !slices.Equal(got,
		want) {
		t.Errorf("the first look: %q, want %q", got, want)
	}
}

func linesOf(all []change) (lines []string) {
	for _, c := range all {
		lines = append(lines, string(c.Event)+c.text()[9:])
	}
	return lines
}

func TestNodesAreReportedWhenTheirAnswersChange(t *testing.T) {
	t.Parallel()
	one := []admin.Vote{{Node: "a"}, {Node: "b", Closed: time.Minute}, {Node: "c", Err: admin.ErrSilent}}
	if got := linesOf(nodeChanges(nil, one)); len(got) != 3 {
		t.Errorf("at first: %q", got)
	}
	two := []admin.Vote{{Node: "a"}, {Node: "b", Closed: time.Second}, {Node: "c", Err: admin.ErrSilent}}
	if got := linesOf(nodeChanges(one, two)); len(got) != 0 {
		t.Errorf("nothing is new, but: %q", got)
	}
	three := []admin.Vote{{Node: "a", Holders: []admin.Holder{holds(1, time.Minute)}}, {Node: "b"},
		{Node: "c", Closed: time.Minute}}
	want := []string{"node  a  held", "node  b  free", "node  c  grants are closed for 1m0s"}
	if got := linesOf(nodeChanges(two, three)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheNextPollComesWhenTheLastLeaseExpires(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		found []admin.Status
		want  time.Duration
	}{
		{nil, minPollInterval},
		{[]admin.Status{latchAt(1)}, minPollInterval},
		{[]admin.Status{entryOf(driver.Lock, "a", 0, holds(1, time.Millisecond))}, minPollInterval},
		{[]admin.Status{entryOf(driver.Lock, "a", 0, holds(1, 300*time.Millisecond),
			holds(2, 600*time.Millisecond))}, 600 * time.Millisecond},
		{[]admin.Status{entryOf(driver.Lock, "a", 0, holds(1, time.Minute))}, maxPollInterval},
		{[]admin.Status{entryOf(driver.Lock, "a", 0, holds(1, driver.NoTTL))}, maxPollInterval},
	} {
		if got := pollInterval(c.found); got != c.want {
			t.Errorf("%+v: %s, want %s", c.found, got, c.want)
		}
	}
}

func TestTheCallerIsWhoCalledSudo(t *testing.T) {
	t.Parallel()
	env := func(set map[string]string) func(string) string { return func(name string) string { return set[name] } }
	for _, c := range []struct {
		set  map[string]string
		uid  int
		want string
	}{
		{map[string]string{"SUDO_USER": "anna"}, 0, "anna@"},
		{map[string]string{"DOAS_USER": "anna"}, 0, "anna@"},
		{map[string]string{"SUDO_USER": "anna"}, 4_000_000, "uid 4000000@"},
		{nil, 0, "root@"},
	} {
		if got := caller(env(c.set), c.uid); len(got) <= len(c.want) || got[:len(c.want)] != c.want {
			t.Errorf("%v as %d: %q, want %s", c.set, c.uid, got, c.want)
		}
	}
}
