//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// leakyEngine is an engine with leaks. Sweeping some of them fails.
type leakyEngine struct {
	*memory.Engine
	leaks []driver.Leak
	swept map[string]error // by name
	fails error            // at the end
}

func (l *leakyEngine) Leaks(_ context.Context, _ driver.Query, visit func(driver.Leak) bool) error {
	for _, leak := range l.leaks {
		if !visit(leak) {
			return nil
		}
	}
	return l.fails
}

func (l *leakyEngine) Sweep(_ context.Context, leak driver.Leak) error { return l.swept[leak.Name] }

// After a failure the engine is not asked for the rest, and the outcome of each leak is reported.
func TestSweepStopsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	l := &leakyEngine{Engine: memory.New(),
		swept: map[string]error{"b": driver.ErrNotHeld, "c": errors.New("connection refused")}}
	for i, name := range []string{"a", "b", "c", "d"} {
		l.leaks = append(l.leaks, driver.Leak{Key: driver.Key{Kind: driver.Lock, Name: name}, Server: "node 1",
			Sort: driver.DeadWaiters, Count: i + 1, Mark: "geheim"})
	}
	c := admin.New(l)
	for _, json := range []bool{false, true} {
		a := &app{out: &bytes.Buffer{}, err: &bytes.Buffer{}}
		wantCode(t, a.findLeaks(t.Context(), c, leakFlags{fix: true, yes: true, json: json}), exit.Unavailable)
		want := "removed dead waiters of lock a, on node 1\nnot there any more: dead waiters of lock b (2), on node 1\n"
		if json {
			want = "["
			for i, outcome := range []string{"removed", "gone", "left", "left"} {
				want += fmt.Sprintf(`{"sort":"dead waiters","kind":"lock","name":"%c","count":%d,"token":0,`+
					`"server":"node 1","holder":"","outcome":"%s"},`, 'a'+i, i+1, outcome)
			}
			want = strings.TrimSuffix(want, ",") + "]\n"
		}
		if got := fmt.Sprint(a.out); got != want {
			t.Errorf("it printed\n%s\nwant\n%s", got, want)
		}
		if said := fmt.Sprint(a.err); strings.Count(said, "\n") != 4 || strings.Contains(said, "geheim") {
			t.Errorf("it said %q", said)
		}
	}
	a := &app{out: &bytes.Buffer{}, err: &bytes.Buffer{}}
	wantCode(t, a.findLeaks(t.Context(), c, leakFlags{}), exit.No)
	if got := fmt.Sprint(a.out); strings.Count(got, "\n") != 5 || strings.Contains(got, "geheim") {
		t.Errorf("without --fix: %q", got)
	}
}

// A node of a majority is unavailable: what was found on the others is reported, and can be removed.
func TestLeaksFoundBeforeAFailureAreReported(t *testing.T) {
	t.Parallel()
	l := &leakyEngine{Engine: memory.New(), fails: errors.New("node 2: no answer"), leaks: []driver.Leak{
		{Key: driver.Key{Kind: driver.Lock, Name: "a"}, Server: "node 1", Sort: driver.EndlessLease, Count: 1},
	}}
	c := admin.New(l)
	found := l.leaks
	for _, row := range []struct {
		flags leakFlags
		leaks []driver.Leak
		want  string
	}{
		{leakFlags{json: true}, found, `[{"sort":"endless lease","kind":"lock","name":"a"`},
		{leakFlags{}, found, "endless lease  lock  a     1      -      node 1  -\n"},
		{leakFlags{fix: true, yes: true}, found, "removed endless lease of lock a, on node 1\n"},
		{leakFlags{json: true}, nil, ""},
		{leakFlags{}, nil, ""},
	} {
		l.leaks = row.leaks
		a := &app{out: &bytes.Buffer{}, err: &bytes.Buffer{}}
		err := a.findLeaks(t.Context(), c, row.flags)
		wantCode(t, err, exit.Unavailable)
		if got := fmt.Sprint(a.out); !strings.Contains(got, row.want) || row.want == "" && got != "" ||
			!strings.Contains(err.Error(), "node 2: no answer") {
			t.Errorf("%+v: it printed %q, want %q; %v", row.flags, got, row.want, err)
		}
	}
}
