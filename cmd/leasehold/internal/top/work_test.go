package top

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
)

func TestPace(t *testing.T) {
	t.Parallel()
	s := newStage(t, Options{})
	if due := s.started(); len(due) != 2 || due[looking].number == 0 || due[examining].number == 0 {
		t.Fatalf("at first: %+v", due)
	}
	s.model.work = [sorts]work{}
	for i := range s.work {
		s.work[i].due = s.now
	}
	// A look that takes long leaves the engine alone for as long.
	s.seen(s.started()[looking], 9*time.Second, many(3)...)
	s.pass(9*time.Second - 1)
	if len(s.started()) != 0 {
		t.Error("too early")
	}
	if at := s.wake(); !at.Equal(s.now.Add(1)) {
		t.Errorf("it wakes in %s", at.Sub(s.now))
	}
	s.pass(1)
	s.show(many(3)...)
	s.press("p")
	s.pass(time.Hour)
	if len(s.started()) != 0 || !strings.Contains(s.draw().String(), "PAUSED") {
		t.Error("it is not paused")
	}
	s.press("p")
	if len(s.started()) == 0 {
		t.Error("it does not go on")
	}
	var paces []string
	for range 12 {
		s.press("-")
		paces = append(paces, span(s.opts.Interval))
	}
	for range 12 {
		s.press("+")
		paces = append(paces, span(s.opts.Interval))
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
	s := newStage(t, Options{})
	s.show(many(3)...)
	s.press("down", "enter")
	first := s.start(opening)
	if first.key.Name != "n001" || s.page != one {
		t.Fatalf("it opens %+v", first.key)
	}
	s.press("esc", "down", "enter")
	if s.page != one || !s.unfit(opening) {
		t.Error("what was closed is still waited for")
	}
	s.take(answer{task: first, detail: detail{status: lock("n001", "the wrong one", 1, 1, 1, 0)}})
	if strings.Contains(s.draw().String(), "wrong") {
		t.Error("an answer about another name is shown")
	}
	second := s.start(opening)
	s.take(answer{task: second, detail: detail{status: leasehold.Status{Key: second.key}}})
	if text := s.draw().String(); !strings.Contains(text, "lock n002\nfree\n") {
		t.Errorf("it has been released:\n%s", text)
	}
	s.pass(2 * time.Second)
	s.start(opening) // and again
	s.press("backspace")
	s.pass(time.Hour)
	if _, ok := s.started()[opening]; ok || s.page != table {
		t.Error("it is looked at though it is closed")
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	line := func(a answer) string {
		s := newStage(t, Options{})
		a.task = s.start(examining)
		s.take(a)
		l, _ := s.health()
		if l == nil {
			return ""
		}
		return frame{lines: [][]cell{l.cells}}.String()
	}
	for want, a := range map[string]answer{
		"":                                     {err: &leasehold.Error{Op: "examine", Err: leasehold.ErrUnsupported}},
		"the servers cannot be examined: no\n": {err: errors.New("no")},
		"places 2  2 well  round trip 0.4ms\n": {places: leasehold.Examination{Places: []leasehold.Place{well("a"), well("b")}}},
		"places 2  1 well  1 FAILING  a: NOPERM  round trip 0.4ms\n": {places: leasehold.Examination{Places: []leasehold.Place{{Name: "a", Err: errors.New("NOPERM")}, well("b")}}},
	} {
		if got := line(a); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	s := newStage(t, Options{Interval: time.Second})
	s.take(answer{task: s.start(examining), err: &leasehold.Error{Op: "examine", Err: leasehold.ErrUnsupported}})
	s.pass(time.Hour)
	if _, ok := s.started()[examining]; ok {
		t.Error("it asks again what the engine cannot do")
	}
	s = newStage(t, Options{Interval: time.Second})
	s.take(answer{task: s.start(examining)})
	s.pass(examineEvery - 1)
	if _, ok := s.started()[examining]; ok {
		t.Error("it examines as often as it looks")
	}
	s.pass(1)
	s.start(examining)
}

// An answer to a question that was not asked changes nothing.
func TestStrayAnswers(t *testing.T) {
	t.Parallel()
	s := newStage(t, Options{})
	a := s.start(looking)
	s.seen(a, time.Second, many(2)...)
	s.seen(a, time.Second, many(3)...)
	s.seen(task{errand: looking, number: 7}, time.Second, many(4)...)
	if s.picture.names != 2 {
		t.Errorf("%d names", s.picture.names)
	}
	s.progress(progress{keys: 77})
	if s.so.keys != 0 {
		t.Error("progress of a look that has ended")
	}
	s.pass(3 * time.Second)
	s.start(looking)
	s.progress(progress{keys: 12_345})
	if !strings.Contains(s.draw().String(), "12,345 keys searched") {
		t.Error("progress is not shown")
	}
	s.progress(progress{keys: 12_345, names: 678})
	if text := s.draw().String(); !strings.Contains(text, "678 names read") || strings.Contains(text, "12,345") {
		t.Error("further progress is not shown")
	}
}

// When the engine goes away or comes back, what was said of its places is not true any more.
func TestPlacesAreExaminedAnewWhenLooksFail(t *testing.T) {
	t.Parallel()
	s := newStage(t, Options{})
	answerAll := func(err error) (examined bool) {
		due := s.started()
		if look, ok := due[looking]; ok {
			s.take(answer{task: look, err: err})
		}
		examine, examined := due[examining]
		if examined {
			s.take(answer{task: examine, places: leasehold.Examination{Places: []leasehold.Place{{Name: "a"}}}})
		}
		return examined
	}
	away := errors.New("connection refused")
	for i, step := range []struct {
		look error
		want bool // that the places are examined when the look is over
	}{{nil, false}, {nil, false}, {away, true}, {away, false}, {nil, true}, {nil, false}} {
		answerAll(step.look)
		if got := answerAll(nil); got != step.want {
			t.Errorf("step %d: examined %v, want %v", i, got, step.want)
		}
		s.pass(2 * time.Second)
	}
}
