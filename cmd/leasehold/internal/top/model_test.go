package top

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// names returns the names of the table from the top of the screen, the selected one in brackets.
func (s *testModel) names() string {
	rows := s.rows()
	var out []string
	for i := s.topRow; i < len(rows) && i < s.topRow+s.tableHeight(); i++ {
		name := rows[i].Name
		if i == s.cursor(rows) {
			name = "[" + name + "]"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

func (s *testModel) wantNames(want string) {
	s.t.Helper()
	if got := s.names(); got != want {
		s.t.Errorf("the table has %s, want %s", got, want)
	}
}

func TestSorting(t *testing.T) {
	t.Parallel()
	s := newTestModel(t, Options{})
	s.show(
		lock("a", "h", 1, 30*time.Second, time.Second, 1),
		lock("b", "h", 2, 10*time.Second, time.Hour, 0),
		lock("c", "h", 3, driver.NoTTL, -1, 5),
		admin.Status{Key: driver.Key{Kind: driver.Lock, Name: "d"}, Waiting: 5},
	)
	s.wantNames("[c] d a b")
	s.press("w")
	s.wantNames("[b] a d c")
	s.press("w", "n")
	s.wantNames("[a] b c d")
	s.press("n")
	s.wantNames("[d] c b a")
	s.press("h")
	s.wantNames("[b] a c d")
	s.press("t")
	s.wantNames("[b] a c d")
}

func many(n int) (all []admin.Status) {
	for i := range n {
		all = append(all, lock(fmt.Sprintf("n%03d", i), "holder", uint64(i+1), time.Minute, time.Second, 0))
	}
	return all
}

func TestMovingInTheTable(t *testing.T) {
	t.Parallel()
	s := newTestModel(t, Options{})
	s.resize(80, 11) // room for five rows
	s.show(many(23)...)
	s.press("n")
	if n := s.tableHeight(); n != 5 {
		t.Fatalf("room for %d rows", n)
	}
	s.press("n", "n", "up")
	s.wantNames("[n000] n001 n002 n003 n004")
	s.press("down", "j", "j", "down", "down")
	s.wantNames("n001 n002 n003 n004 [n005]")
	s.press("k")
	s.wantNames("n001 n002 n003 [n004] n005")
	s.press("pgdn")
	s.wantNames("n004 n005 n006 n007 [n008]")
	s.press("end")
	s.wantNames("n018 n019 n020 n021 [n022]")
	s.press("pgdn", "down")
	s.wantNames("n018 n019 n020 n021 [n022]")
	s.press("pgup", "pgup")
	s.wantNames("[n014] n015 n016 n017 n018")
	s.resize(80, 24)
	s.scrollToSelected()
	if rows := s.rows(); rows[s.cursor(rows)].Name != "n014" {
		t.Error("another size moves the mark")
	}
	s.resize(80, 1)
	s.scrollToSelected()
	s.press("home")
	s.resize(80, 11)
	s.scrollToSelected()
	s.wantNames("[n000] n001 n002 n003 n004")
}

func TestTheSelectionFollowsItsName(t *testing.T) {
	t.Parallel()
	s := newTestModel(t, Options{})
	all := many(4)
	s.show(all...)
	s.wantNames("[n000] n001 n002 n003")
	again := func() { s.advance(3 * time.Second); s.show(all...) }

	all[2].Waiting = 3
	again()
	s.wantNames("[n002] n000 n001 n003") // until a key moves the selection, it stays at the top
	s.press("down")
	all[0].Waiting, all[3].Waiting = 1, 9
	again()
	s.wantNames("n003 n002 [n000] n001")
	all = slices.Delete(all, 0, 1)
	again()
	s.wantNames("n003 n002 [n001]")
	all = nil
	again()
	s.wantNames("")
	s.press("enter", "down", "end", "pgup", "home")
	if s.page != pageTable {
		t.Error("nothing was opened")
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	s := newTestModel(t, Options{})
	s.show(lock("deploy:shop", "build-7", 1, time.Minute, 0, 0), lock("orders", "SHOP-1", 2, time.Minute, 0, 0),
		lock("report", "db", 3, time.Minute, 0, 0))
	s.press("/", "S", "h", "x", "backspace", "q")
	if s.quit || !s.typing {
		t.Fatal("what is typed is a key")
	}
	s.wantNames("")
	s.press("backspace")
	s.wantNames("[deploy:shop] orders")
	if text := s.draw().String(); !strings.HasSuffix(text, "\nfilter: Sh\n") {
		t.Errorf("the prompt is not shown:\n%s", text)
	}
	s.press("enter")
	if s.typing || s.view.filter != "Sh" {
		t.Errorf("filter %q", s.view.filter)
	}
	s.wantNames("[deploy:shop] orders")
	if n := len(s.startedRequests()); n != 0 { // all names are there, so nothing need be listed again
		t.Errorf("%d tasks", n)
	}
	s.press("/", "ctrl-u", "d", "b", "esc")
	s.wantNames("[deploy:shop] orders")
	s.press("esc")
	s.wantNames("[deploy:shop] orders report")
	s.press("/", "日", "\x1b", "\u202e", "another f5")
	if string(s.typed) != "日" {
		t.Errorf("typed %q", string(s.typed))
	}
	s.press("ctrl-c")
	if !s.quit {
		t.Error("ctrl-C does not quit")
	}
}

// If the engine has more names than the table keeps, another order or filter needs another listing, at once.
func TestAnotherViewOfManyNames(t *testing.T) {
	t.Parallel()
	s := newTestModel(t, Options{})
	s.show(many(maxRows + 500)...)
	if n := len(s.snapshot.rows); n != maxRows || s.snapshot.names != maxRows+500 {
		t.Fatalf("%d rows of %d", n, s.snapshot.names)
	}
	if text := s.draw().String(); !strings.Contains(text, "names 1,500") ||
		!strings.Contains(text, "the first 1,000 of 1,500") {
		t.Errorf("what is not shown is not mentioned:\n%s", text)
	}
	s.press("n", "n")
	old := s.start(listNames)
	s.press("/", "n", "1", "4", "enter")
	if !s.isObsolete(listNames) {
		t.Error("a look that is of no use goes on")
	}
	if text := s.draw().String(); !strings.Contains(text, "polling again") {
		t.Errorf("it does not say that it looks again:\n%s", text)
	}
	if n := s.startedRequests()[listNames].number; n != 0 {
		t.Error("two looks at the same time")
	}
	s.noteResponse(response{request: old, err: errors.New("cancelled")})
	if s.err != nil {
		t.Errorf("a cancelled listing is reported: %s", s.err)
	}
	now := s.start(listNames)
	if now.view != (view{sort: byName, reversed: true, filter: "n14"}) {
		t.Errorf("it looks for %+v", now.view)
	}
	s.respond(now, time.Second, many(maxRows+500)...)
	if text := s.draw().String(); !strings.Contains(text, "110 of 1,500 names match") ||
		strings.Contains(text, "polling again") {
		t.Errorf("not mentioned:\n%s", text)
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	s := newTestModel(t, Options{})
	look := func(all ...admin.Status) string {
		s.advance(s.requests[listNames].due.Sub(s.now))
		s.show(all...)
		return strings.Split(s.draw().String(), "\n")[2]
	}
	if text := look(many(4)...); strings.Contains(text, "seen") {
		t.Errorf("after one look: %q", text)
	}
	all := many(6)[2:] // two are gone, two are new
	all[0].Holders[0].Token += 100
	if text := look(all...); !strings.Contains(text, "seen: 1.5 grants/s, 1.5 releases/s") { // in 2.012 s
		t.Errorf("%q", text)
	}
	if text := look(all...); !strings.Contains(text, "seen: 0.0 grants/s, 0.0 releases/s") {
		t.Errorf("%q", text)
	}
	// A listing that was cut short says nothing about what it has not seen.
	s.advance(time.Minute)
	a := s.start(listNames)
	s.noteResponse(response{request: a, snapshot: snapshot{began: s.now, view: a.view, names: 7, cut: true}})
	if text := s.draw().String(); strings.Contains(text, "seen") || !strings.Contains(text, "names 7+") ||
		!strings.Contains(text, "more was not counted") {
		t.Errorf("%q", text)
	}
	if text := look(all...); strings.Contains(text, "seen") {
		t.Errorf("%q", text)
	}
}

// The bar of a renewed lease fills again; that of another one becomes empty.
func TestTheBar(t *testing.T) {
	t.Parallel()
	s := newTestModel(t, Options{})
	bars := func(left time.Duration, token uint64) string {
		s.advance(10 * time.Second)
		s.show(lock("a", "h", token, left, 0, 0))
		_, filled := s.remaining(s.rows()[0])
		as, _ := s.remaining(s.rows()[0])
		return fmt.Sprint(filled, map[style]string{good: "good", warn: "warn", bad: "bad"}[as])
	}
	for i, c := range []struct {
		left  time.Duration
		token uint64
		want  string
	}{
		{20 * time.Second, 1, "4good"}, {30 * time.Second, 1, "4good"}, {20 * time.Second, 1, "3good"},
		{14 * time.Second, 1, "2warn"},
		{7 * time.Second, 1, "1bad"}, {0, 1, "0bad"}, {7 * time.Second, 2, "4good"},
	} {
		if got := bars(c.left, c.token); got != c.want {
			t.Errorf("look %d: %s, want %s", i, got, c.want)
		}
	}
}
