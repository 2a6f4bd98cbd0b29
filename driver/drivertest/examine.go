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
	{"ServersOfAnExamination", serversOfAnExamination},
	{"FindingsSayWhatToDo", findingsSayWhatToDo},
	{"ExamineChangesNothing", examineChangesNothing},
	{"ExamineEndsWithItsContext", examineEndsWithItsContext},
}

// examiner opens an engine that can examine its servers.
func (e *env) examiner() driver.Operator {
	e.Helper()
	return e.operator("examination of its servers", func(o driver.Operator) error {
		_, err := o.Examine(e.ctx)
		return err
	})
}

func (e *env) examine(x driver.Operator) driver.Examination {
	e.Helper()
	found, err := x.Examine(e.ctx)
	if err != nil || len(found.Servers) == 0 {
		e.Fatalf("Examine found %+v, %v; want at least one server", found, err)
	}
	return found
}

// serversOfAnExamination checks that all servers are healthy, have different names, and reveal no
// password.
func serversOfAnExamination(e *env) {
	first := e.examine(e.examiner())
	var names []string
	votes := 0
	for _, p := range first.Servers {
		if p.Err != nil || p.Closed != 0 {
			e.Errorf("server %q is closed for %v, %v; want a healthy one", p.Name, p.Closed, p.Err)
		}
		if p.Name == "" || slices.Contains(names, p.Name) {
			e.Errorf("a server is called %q, which must be a name that no other server has", p.Name)
		}
		if strings.Contains(p.Name, "@") {
			e.Errorf("the name of server %q contains a user or a password", p.Name)
		}
		if p.Votes {
			votes++
		}
		names = append(names, p.Name)
	}
	if votes == 0 {
		e.Errorf("none of the servers grants leases: %+v", first.Servers)
	}
	for i, p := range e.examine(e.examiner()).Servers {
		if i >= len(names) || p.Name != names[i] {
			e.Errorf("server %d is called %q, and before they were %q", i, p.Name, names)
		}
	}
}

// codePattern is the form of a finding's code.
var codePattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func findingsSayWhatToDo(e *env) {
	found := e.examine(e.examiner())
	for _, f := range found.Findings {
		if f.Severity < driver.Note || f.Severity > driver.Critical || !codePattern.MatchString(f.Code) ||
			f.Text == "" || f.Fix == "" {
			e.Errorf("a finding must have a severity, a code in words with hyphens, a text, and a fix: %+v", f)
		}
		isNamed := func(s driver.Server) bool { return s.Name == f.Server }
		if f.Server != "" && !slices.ContainsFunc(found.Servers, isNamed) {
			e.Errorf("a finding names an unknown server: %+v", f)
		}
		if f.Severity == driver.Critical && !slices.Contains(e.expected, f.Code) {
			e.Errorf("a critical finding about a healthy server: %+v", f)
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
			if !e.can.Fair { // on other engines a waiter may still be joining
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
	if text := fmt.Sprintf("%+v %#v", found, found); strings.Contains(text, r.Owner) ||
		strings.Contains(text, w.request.Owner) {
		e.Errorf("the examination shows an owner: %s", text)
	}
	e.mustRenew(a, r, e.long)
	w.checkWaiting()
	e.release(a, r)
	if n := w.mustBeGranted(); n.Token <= g.Token {
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
