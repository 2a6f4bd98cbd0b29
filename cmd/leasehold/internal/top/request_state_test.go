package top

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
)

func TestInterval(t *testing.T) {
	t.Parallel()
	s := newTestModel(t, Options{})
	if due := s.startedRequests(); len(due) != 2 || due[listNames].number == 0 || due[examineServers].number == 0 {
		t.Fatalf("at first: %+v", due)
	}
	s.model.requests = [requestKinds]requestState{}
	for i := range s.requests {
		s.requests[i].due = s.now
	}
	// After a slow listing, the engine is left alone for as long as it took.
	s.respond(s.startedRequests()[listNames], 9*time.Second, many(3)...)
	s.advance(9*time.Second - 1)
	if len(s.startedRequests()) != 0 {
		t.Error("too early")
	}
	if at := s.wakeAt(); !at.Equal(s.now.Add(1)) {
		t.Errorf("it wakes in %s", at.Sub(s.now))
	}
	s.advance(1)
	s.show(many(3)...)
	s.press("p")
	s.advance(time.Hour)
	if len(s.startedRequests()) != 0 || !strings.Contains(s.draw().String(), "PAUSED") {
		t.Error("it is not paused")
	}
	s.press("p")
	if len(s.startedRequests()) == 0 {
		t.Error("it does not go on")
	}
	var paces []string
	for range 12 {
		s.press("-")
		paces = append(paces, formatDuration(s.opts.Interval))
	}
	for range 12 {
		s.press("+")
		paces = append(paces, formatDuration(s.opts.Interval))
	}
	if got := strings.Join(slices.Compact(paces), " "); got != "5s 10s 30s 1m00s 5m00s 1m00s 30s 10s 5s 2s 1s 500ms" {
		t.Errorf("the paces are %s", got)
	}
	s.opts.Interval = 3 * time.Second
	s.press("-")
	if s.opts.Interval != 5*time.Second {
		t.Errorf("from 3s to %s", s.opts.Interval)
	}
	s.opts.Interval = 3 * time.Second
	s.press("=")
	if s.opts.Interval != 2*time.Second {
		t.Errorf("from 3s to %s", s.opts.Interval)
	}
}

func TestOpeningAName(t *testing.T) {
	t.Parallel()
	s := newTestModel(t, Options{})
	s.show(many(3)...)
	s.press("down", "enter")
	first := s.start(inspectOne)
	if first.key.Name != "n001" || s.page != pageDetail {
		t.Fatalf("it opens %+v", first.key)
	}
	s.press("esc", "down", "enter")
	if s.page != pageDetail || !s.isObsolete(inspectOne) {
		t.Error("what was closed is still waited for")
	}
	s.noteResponse(response{request: first, detail: detail{status: lock("n001", "the wrong one", 1, 1, 1, 0)}})
	if strings.Contains(s.draw().String(), "wrong") {
		t.Error("an answer about another name is shown")
	}
	second := s.start(inspectOne)
	s.noteResponse(response{request: second, detail: detail{status: admin.Status{Key: second.key}}})
	if text := s.draw().String(); !strings.Contains(text, "lock n002\nfree\n") {
		t.Errorf("it has been released:\n%s", text)
	}
	s.advance(2 * time.Second)
	s.start(inspectOne) // and again
	s.press("backspace")
	s.advance(time.Hour)
	if _, ok := s.startedRequests()[inspectOne]; ok || s.page != pageTable {
		t.Error("it is looked at though it is closed")
	}
}

// A pause stops what comes by itself, not what a key asks for: a name that is opened is shown, once.
func TestOpeningANameDuringAPause(t *testing.T) {
	t.Parallel()
	s := newTestModel(t, Options{})
	s.show(many(3)...)
	s.press("p", "enter")
	if at := s.wakeAt(); at.After(s.now) {
		t.Errorf("it wakes in %s only", at.Sub(s.now))
	}
	asked := s.start(inspectOne)
	s.noteResponse(response{request: asked, detail: detail{status: admin.Status{Key: asked.key}}})
	if text := s.draw().String(); !strings.Contains(text, "free") || !strings.Contains(text, "PAUSED") {
		t.Errorf("the name is not shown:\n%s", text)
	}
	s.advance(time.Hour)
	if due := s.startedRequests(); len(due) > 0 {
		t.Errorf("it is not paused: %+v", due)
	}
	s.press("esc", "p")
	if _, polls := s.startedRequests()[listNames]; !polls {
		t.Error("it does not go on")
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	line := func(a response) string {
		s := newTestModel(t, Options{})
		a.request = s.start(examineServers)
		s.noteResponse(a)
		l, _ := s.health()
		if l == nil {
			return ""
		}
		return frame{lines: [][]cell{l.cells}}.String()
	}
	for want, a := range map[string]response{
		"":                                     {err: &leasehold.Error{Op: "examine", Err: leasehold.ErrUnsupported}},
		"the servers cannot be examined: no\n": {err: errors.New("no")},
		"servers 2  2 ok  round trip 0.4ms\n": {
			examination: admin.Examination{Servers: []admin.Server{well("a"), well("b")}},
		},
		"servers 2  1 ok  1 FAILING  a: NOPERM  round trip 0.4ms\n": {
			examination: admin.Examination{
				Servers: []admin.Server{{Name: "a", Err: errors.New("NOPERM")}, well("b")},
			},
		},
	} {
		if got := line(a); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	s := newTestModel(t, Options{Interval: time.Second})
	s.noteResponse(response{request: s.start(examineServers),
		err: &leasehold.Error{Op: "examine", Err: leasehold.ErrUnsupported}})
	s.advance(time.Hour)
	if _, ok := s.startedRequests()[examineServers]; ok {
		t.Error("it asks again what the engine cannot do")
	}
	s = newTestModel(t, Options{Interval: time.Second})
	s.noteResponse(response{request: s.start(examineServers)})
	s.advance(examineEvery - 1)
	if _, ok := s.startedRequests()[examineServers]; ok {
		t.Error("it examines as often as it looks")
	}
	s.advance(1)
	s.start(examineServers)
}

// The response to a request that is not in flight changes nothing.
func TestUnexpectedResponses(t *testing.T) {
	t.Parallel()
	s := newTestModel(t, Options{})
	a := s.start(listNames)
	s.respond(a, time.Second, many(2)...)
	s.respond(a, time.Second, many(3)...)
	s.respond(request{kind: listNames, number: 7}, time.Second, many(4)...)
	if s.snapshot.names != 2 {
		t.Errorf("%d names", s.snapshot.names)
	}
	s.noteProgress(progress{keys: 77})
	if s.progress.keys != 0 {
		t.Error("progress of a look that has ended")
	}
	s.advance(3 * time.Second)
	s.start(listNames)
	s.noteProgress(progress{keys: 12_345})
	if !strings.Contains(s.draw().String(), "12,345 keys searched") {
		t.Error("progress is not shown")
	}
	s.noteProgress(progress{keys: 12_345, names: 678})
	if text := s.draw().String(); !strings.Contains(text, "678 names read") || strings.Contains(text, "12,345") {
		t.Error("further progress is not shown")
	}
}

// When the engine becomes unavailable or available again, what was known of its servers is out of date.
func TestServersAreExaminedAgainWhenListingsFail(t *testing.T) {
	t.Parallel()
	s := newTestModel(t, Options{})
	answerAll := func(err error) (examined bool) {
		due := s.startedRequests()
		if look, ok := due[listNames]; ok {
			s.noteResponse(response{request: look, err: err})
		}
		examine, examined := due[examineServers]
		if examined {
			s.noteResponse(response{request: examine,
				examination: admin.Examination{Servers: []admin.Server{{Name: "a"}}}})
		}
		return examined
	}
	away := errors.New("connection refused")
	for i, step := range []struct {
		look error
		want bool // that the servers are examined after the listing
	}{{nil, false}, {nil, false}, {away, true}, {away, false}, {nil, true}, {nil, false}} {
		answerAll(step.look)
		if got := answerAll(nil); got != step.want {
			t.Errorf("step %d: examined %v, want %v", i, got, step.want)
		}
		s.advance(2 * time.Second)
	}
}
