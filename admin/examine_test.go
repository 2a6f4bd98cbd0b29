package admin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// examined is an engine that returns what a test says.
type examined struct {
	driver.Engine
	driver.Unsupported
	x       driver.Examination
	err     error
	walk    bool // it has to search for names
	endless bool // it never finds any
}

func (e *examined) Abilities() driver.Abilities {
	a := e.Engine.Abilities()
	a.Local, a.Walk = false, e.walk
	return a
}

func (e *examined) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	if e.endless {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return e.Engine.List(ctx, q)
}

func (e *examined) Examine(context.Context) (driver.Examination, error) { return e.x, e.err }

func examinedBy(t *testing.T, e *examined, opts ...admin.Option) (admin.Examination, error) {
	t.Helper()
	e.Engine = memory.New()
	return admin.New(e, opts...).Examine(t.Context())
}

// The findings about servers that any engine can have, and how severe they are.
func TestExamineJudgesServers(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	well := func(name string, changes ...func(*driver.Server)) driver.Server {
		p := driver.Server{Name: name, Votes: true, Uptime: time.Hour, RoundTrip: ms, HasClock: true}
		for _, change := range changes {
			change(&p)
		}
		return p
	}
	silent := func(p *driver.Server) {
		p.Err, p.RoundTrip, p.HasClock = fmt.Errorf("it is gone: %w", driver.ErrSilent), -1, false
	}
	broken := func(p *driver.Server) { p.Err, p.RoundTrip, p.HasClock = errors.New("no password"), -1, false }
	closed := func(p *driver.Server) { p.Closed = 40 * time.Second }
	follows := func(p *driver.Server) { p.Votes = false }
	ahead := func(d time.Duration) func(*driver.Server) { return func(p *driver.Server) { p.Ahead = d } }
	slow := func(d time.Duration) func(*driver.Server) { return func(p *driver.Server) { p.RoundTrip = d } }
	for name, c := range map[string]struct {
		servers  []driver.Server
		majority bool
		want     string
	}{
		"a healthy server": {servers: []driver.Server{well("a")}},
		"nothing":          {},
		"one that is silent": {servers: []driver.Server{well("a", silent)},
			want: "critical server-silent a"},
		"one that refuses": {servers: []driver.Server{well("a", broken)},
			want: "critical server-error a"},
		"a replica that is silent": {servers: []driver.Server{well("a"), well("b", silent, follows)},
			want: "warning server-silent b"},
		"one of several, all needed": {servers: []driver.Server{well("a"), well("b", silent), well("c")},
			want: "critical server-silent b"},
		"one of three": {servers: []driver.Server{well("a"), well("b", silent), well("c")},
			majority: true, want: "warning server-silent b"},
		"two of three": {servers: []driver.Server{well("a", silent), well("b", broken), well("c")},
			majority: true, want: "critical server-silent a, critical server-error b"},
		"two of four": {servers: []driver.Server{well("a", silent), well("b", silent), well("c"),
			well("d")}, majority: true, want: "critical server-silent a, critical server-silent b"},
		"one silent, one closed, of three": {servers: []driver.Server{well("a", silent), well("b", closed), well("c")},
			majority: true, want: "critical server-silent a, critical grants-closed b"},
		"one silent, one closed, of five": {servers: []driver.Server{well("a", silent), well("b", closed), well("c"),
			well("d"), well("e")}, majority: true, want: "warning server-silent a, warning grants-closed b"},
		"replicas make no majority": {servers: []driver.Server{well("a"), well("b", silent), well("c", silent),
			well("d", follows), well("e", follows)}, majority: true,
			want: "critical server-silent b, critical server-silent c"},
		"one that grants nothing yet": {servers: []driver.Server{well("a", closed)},
			want: "critical grants-closed a"},
		"a replica that would not": {servers: []driver.Server{well("a"), well("b", closed, follows)}},
		"a clock that is ahead": {servers: []driver.Server{well("a", ahead(10*time.Second))},
			want: "warning clock-difference a"},
		"a clock that is behind": {servers: []driver.Server{well("a"), well("b", ahead(-10*time.Second)),
			well("c")}, want: "warning clock-difference b"},
		"a clock that may be right": {servers: []driver.Server{well("a", ahead(1100*ms), slow(300*ms))},
			want: "warning slow a"},
		"a clock a little off": {servers: []driver.Server{well("a", ahead(900*ms))}},
		"the clock of this machine": {servers: []driver.Server{well("a", ahead(10*time.Second)),
			well("b", ahead(10*time.Second))}, want: "warning clock-difference "},
		"clocks apart, this one between": {servers: []driver.Server{well("a", ahead(-800*ms)), well("b"),
			well("c", ahead(800*ms))}, want: "warning clock-difference "},
		"clocks all wrong, each by its own": {servers: []driver.Server{well("a", ahead(-5*time.Second)),
			well("b", ahead(5*time.Second))}, want: "warning clock-difference a, warning clock-difference b"},
		"slow":     {servers: []driver.Server{well("a", slow(150*ms))}, want: "warning slow a"},
		"too slow": {servers: []driver.Server{well("a", slow(400*ms))}, want: "critical slow a"},
		"too slow, but others are not": {servers: []driver.Server{well("a", slow(400*ms)), well("b"), well("c")},
			majority: true, want: "warning slow a"},
		"too slow, with too few that are not": {
			servers:  []driver.Server{well("a", slow(400*ms)), well("b", slow(150*ms)), well("c")},
			majority: true, want: "critical slow a, warning slow b"},
		"a replica that is slow": {servers: []driver.Server{well("a"), well("b", slow(time.Second), follows)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := examinedBy(t, &examined{x: driver.Examination{Servers: c.servers, Majority: c.majority}},
				admin.WithTTL(time.Second))
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, f := range x.Findings {
				found = append(found, fmt.Sprint(f.Severity, " ", f.Code, " ", f.Server))
				if f.Text == "" || f.Fix == "" {
					t.Errorf("nothing is said of %+v", f)
				}
			}
			if got := strings.Join(found, ", "); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
			if !slices.Equal(x.Servers, c.servers) {
				t.Errorf("the servers are %+v", x.Servers)
			}
		})
	}
}

// The engine's findings are sorted among the others: the worst first, and then in the order of servers.
func TestExamineSortsFindings(t *testing.T) {
	t.Parallel()
	servers := []driver.Server{{Name: "b", Votes: true}, {Name: "a", Votes: true, Err: driver.ErrSilent}}
	f := func(s admin.Severity, code, server string) driver.Finding {
		return driver.Finding{Severity: s, Code: code, Server: server}
	}
	x, err := examinedBy(t, &examined{x: driver.Examination{Servers: servers, Findings: []driver.Finding{
		f(admin.Note, "n", "b"), f(admin.Warning, "w", "a"), f(admin.Warning, "w", "b"),
		f(admin.Critical, "z", "b"), f(admin.Critical, "z", ""), f(admin.Critical, "y", "b"),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range x.Findings {
		got = append(got, f.Code+f.Server)
	}
	if want := []string{"z", "yb", "zb", "server-silenta", "wb", "wa", "nb"}; !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
}

func TestExamineErrors(t *testing.T) {
	t.Parallel()
	if _, err := admin.New(memory.New()).Examine(t.Context()); !errors.Is(err, leasehold.ErrUnsupported) {
		t.Errorf("an engine that cannot tell: %v", err)
	}
	_, err := examinedBy(t, &examined{err: driver.NoEffect(errors.New("it burns"))})
	if !errors.Is(err, leasehold.ErrUnavailable) || !strings.Contains(err.Error(), "it burns") {
		t.Errorf("an engine that fails: %v", err)
	}
}

// Examine finds names that have nearly as many waiters as are allowed.
func TestExamineFindsLongQueues(t *testing.T) {
	t.Parallel()
	longQueues := func(limit int, engine examined, servers ...driver.Server) string {
		e := &engine
		e.Engine, e.x = memory.New(), driver.Examination{Servers: servers}
		c := admin.New(e, admin.WithMaxWaiters(limit))
		for i := range 10 {
			r := driver.Request{Key: driver.Key{Kind: driver.Lock, Name: "order"}, Owner: fmt.Sprint(i), TTL: time.Hour,
				Join: true}
			if _, err := e.Take(t.Context(), r); i > 0 && !errors.Is(err, driver.ErrHeld) {
				t.Fatal(err)
			}
		}
		x, err := c.Examine(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range x.Findings {
			if f.Code == "long-queue" && f.Severity == admin.Warning {
				return f.Text + f.Fix
			}
		}
		return ""
	}
	for limit, want := range map[int]bool{9: true, 10: true, 11: false, 100: false} {
		text := longQueues(limit, examined{})
		if found := text != ""; found != want {
			t.Errorf("with 9 waiters and a limit of %d: %q", limit, text)
		}
		if want && (!strings.Contains(text, `9 callers wait for the lock "order"`) ||
			!strings.Contains(text, fmt.Sprint("limit of ", limit))) {
			t.Errorf("the text is %q", text)
		}
	}
	if text := longQueues(9, examined{walk: true}); text == "" {
		t.Error("not found where it has to be searched for")
	}
	if text := longQueues(9, examined{walk: true, endless: true}); text != "" { // and it returns
		t.Errorf("a search without end has found %q", text)
	}
	if text := longQueues(9, examined{}, driver.Server{Name: "silent", Err: driver.ErrSilent}); text != "" {
		t.Errorf("listed although a server is silent: %q", text)
	}
}
