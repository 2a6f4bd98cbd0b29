package drivertest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

var examine = []check{
	{"PlacesOfAnExamination", placesOfAnExamination},
	{"FindingsSayWhatToDo", findingsSayWhatToDo},
	{"ExamineChangesNothing", examineChangesNothing},
	{"ExamineEndsWithItsContext", examineEndsWithItsContext},
}

// examiner opens an engine as an Examiner.
func (e *env) examiner() driver.Examiner {
	e.Helper()
	e.needs(e.can.Examine, "examination of its places")
	x, ok := e.open().(driver.Examiner)
	if !ok {
		e.Fatal("the engine says that it can examine its places, but is no driver.Examiner")
	}
	return x
}

func (e *env) examine(x driver.Examiner) driver.Examination {
	e.Helper()
	found, err := x.Examine(e.ctx)
	if err != nil || len(found.Places) == 0 {
		e.Fatalf("Examine found %+v, %v; want at least one place", found, err)
	}
	return found
}

// placesOfAnExamination: all places are well, have names of their own, and give no password away.
func placesOfAnExamination(e *env) {
	first := e.examine(e.examiner())
	var names []string
	votes := 0
	for _, p := range first.Places {
		if p.Err != nil || p.Closed != 0 {
			e.Errorf("place %q is closed for %v, %v; want one that is well", p.Name, p.Closed, p.Err)
		}
		if p.Name == "" || slices.Contains(names, p.Name) {
			e.Errorf("a place is called %q, which must be a name that no other place has", p.Name)
		}
		if strings.Contains(p.Name, "@") {
			e.Errorf("the name of place %q has a user in it, or a password", p.Name)
		}
		if p.Votes {
			votes++
		}
		names = append(names, p.Name)
	}
	if votes == 0 {
		e.Errorf("leases are granted in none of the places %+v", first.Places)
	}
	for i, p := range e.examine(e.examiner()).Places {
		if i >= len(names) || p.Name != names[i] {
			e.Errorf("place %d is called %q, and before they were %q", i, p.Name, names)
		}
	}
}

// aCode is what a code looks like.
var aCode = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func findingsSayWhatToDo(e *env) {
	found := e.examine(e.examiner())
	for _, f := range found.Findings {
		if f.Severity < driver.Note || f.Severity > driver.Critical || !aCode.MatchString(f.Code) || f.Text == "" || f.Mend == "" {
			e.Errorf("a finding must have a severity, a code in words with hyphens, a text, and say what to do: %+v", f)
		}
		if f.Place != "" && !slices.ContainsFunc(found.Places, func(p driver.Place) bool { return p.Name == f.Place }) {
			e.Errorf("a finding is about a place that is none: %+v", f)
		}
		if f.Severity == driver.Critical && !slices.Contains(e.known, f.Code) {
			e.Errorf("a finding is critical, where all is well: %+v", f)
		}
	}
}

func examineChangesNothing(e *env) {
	x, a, b := e.examiner(), e.open(), e.open()
	r := e.lock("name")
	g := e.take(a, r)
	w := e.join(b, e.lock("name"))
	seen := func() []string {
		all := e.list(a, driver.Query{Queue: true})
		for i := range all {
			if !e.can.Fair { // who waits may still be on the way to its place
				all[i].Waiting, all[i].Queue = 0, nil
			}
		}
		return lasting(all)
	}
	before := seen()
	found := e.examine(x)
	if after := seen(); !slices.Equal(after, before) {
		e.Errorf("after Examine List shows %q, and before it %q", after, before)
	}
	if text := fmt.Sprintf("%+v %#v", found, found); strings.Contains(text, r.Owner) || strings.Contains(text, w.request.Owner) {
		e.Errorf("the examination shows an owner: %s", text)
	}
	e.renewed(a, r, e.long)
	w.waits()
	e.release(a, r)
	if n := w.granted(); n.Token <= g.Token {
		e.Errorf("token %d follows %d", n.Token, g.Token)
	}
}

func examineEndsWithItsContext(e *env) {
	x := e.examiner()
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	if found, err := x.Examine(ctx); err == nil {
		e.Errorf("Examine with a context that has ended returned %+v and nil", found)
	}
}
