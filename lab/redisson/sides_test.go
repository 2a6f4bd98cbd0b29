package redisson

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/lateness"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/goside"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// kind is what one side holds and the other wants: objects of the two programs that exclude each other.
type kind struct {
	holds, wants string
	// once: who holds it may not lock it again.
	once bool
	// anonymous: nobody knows who holds it, and it has no lease.
	anonymous bool
	// polls: waiters ask again and again.
	polls bool
	// notified: and yet an unlock wakes them.
	notified bool
}

func (k kind) String() string {
	if k.holds == k.wants {
		return k.holds
	}
	return k.holds + "-" + k.wants
}

// kinds are all objects that are held. RLock, RFencedLock and RSpinLock count as the same.
var kinds = []kind{
	{holds: "lock", wants: "lock"},
	{holds: "fenced", wants: "fenced"},
	{holds: "lock", wants: "fenced"},
	{holds: "spin", wants: "spin", polls: true},
	{holds: "lock", wants: "spin", polls: true},
	{holds: "fair", wants: "fair", polls: true, notified: true}, // once a second, in Go
	{holds: "write", wants: "write"},
	{holds: "write", wants: "read"},
	{holds: "read", wants: "write"},
	{holds: "multi", wants: "multi"},
	{holds: "red", wants: "red", polls: true},
	{holds: "permits", wants: "permits", once: true},
	{holds: "semaphore", wants: "semaphore", once: true, anonymous: true},
}

// lock is an object that a thread of a program of either language may hold: a lock, or a semaphore with one permit.
type lock struct {
	side               *side
	patient            bool // with a long watchdog timeout
	kind, thread, name string
	id                 string // of the permit that is held
}

// side is a program of either language.
type side struct {
	*javaside.Program
	language string
}

// client returns the client for one of the servers, "1" to "3".
func (l *lock) client(server string) string {
	if l.patient {
		return "patient" + server
	}
	return "client" + server
}

// fullName returns the name of the object: a multi-lock is of two locks on one server, and a red lock of one on each.
func (l *lock) fullName() string {
	var parts []string
	for _, c := range l.parts() {
		parts = append(parts, c.Client+".lock."+c.Name)
	}
	return strings.Join(parts, "+")
}

// parts returns the locks of a lock of several, or calls of the object itself.
func (l *lock) parts() []javaside.Call {
	switch l.kind {
	case "multi":
		return []javaside.Call{
			{Client: l.client("1"), Name: l.name + " 1"}, {Client: l.client("1"), Name: l.name + " 2"},
		}
	case "red":
		return []javaside.Call{
			{Client: l.client("1"), Name: l.name}, {Client: l.client("2"), Name: l.name},
			{Client: l.client("3"), Name: l.name},
		}
	}
	return nil
}

func (l *lock) isSemaphore() bool { return l.kind == "permits" || l.kind == "semaphore" }

func (l *lock) call(ctx context.Context, method string, args ...any) (any, error) {
	name := l.name
	if l.parts() != nil {
		name = l.fullName()
	}
	return l.side.Call(ctx, javaside.Call{
		Client: l.client("1"), Thread: l.thread, Op: l.kind + "." + method, Name: name, Args: args,
	})
}

// Lock waits until it is held: for so many milliseconds, or the watchdog keeps it.
func (l *lock) Lock(ctx context.Context, ms ...int) error {
	method, args := "lock", []any{}
	if l.isSemaphore() {
		method = "acquire"
	}
	if len(ms) > 0 && l.kind != "semaphore" {
		args = append(args, ms[0], javaside.Milliseconds)
	}
	v, err := l.call(ctx, method, args...)
	l.id, _ = v.(string)
	return err
}

// TryLock reports whether it is held now.
func (l *lock) TryLock(ctx context.Context) (bool, error) {
	method := "tryLock"
	if l.isSemaphore() {
		method = "tryAcquire"
	}
	v, err := l.call(ctx, method)
	l.id, _ = v.(string)
	return v == true || l.id != "", err
}

// Unlock gives it back, or returns objects.ErrNotHeld.
func (l *lock) Unlock(ctx context.Context) error {
	var err error
	switch l.kind {
	case "semaphore":
		_, err = l.call(ctx, "release")
	case "permits":
		var held any
		if held, err = l.call(ctx, "tryRelease", l.id); held == false {
			return objects.ErrNotHeld
		}
	default:
		_, err = l.call(ctx, "unlock")
	}
	if e, thrown := errors.AsType[javaside.Error](err); thrown && e.Class() == "IllegalMonitorStateException" {
		return errors.Join(objects.ErrNotHeld, err)
	}
	return err
}

// ForceUnlock takes it away from its holder, and reports whether there was one. A lock of several locks loses those
// that it needs.
func (l *lock) ForceUnlock(ctx context.Context) (bool, error) {
	if l.parts() == nil {
		v, err := l.call(ctx, "forceUnlock")
		return v == true, err
	}
	for _, c := range l.parts() {
		c.Thread, c.Op = l.thread, "lock.forceUnlock"
		v, err := l.side.Call(ctx, c)
		// A majority of a red lock is held before the last one is.
		for late := time.Now().Add(woken); v == false && err == nil && time.Now().Before(late); {
			v, err = l.side.Call(ctx, c)
		}
		if v != true || err != nil {
			return false, err
		}
	}
	return true, nil
}

// both are a program in each language that share three servers.
type both struct {
	servers      []*redisserver.Server
	java, golang *side
}

// watchdog is the watchdog timeout of all programs.
const watchdog = 3 * time.Second

func newBoth(t *testing.T, version string) *both {
	b := &both{}
	for range 3 {
		b.servers = append(b.servers, redisserver.ForTest(t, redisserver.Config{}))
	}
	b.java, b.golang = b.start(t, version), b.start(t, "")
	return b
}

// start starts one more program: one in Java with a version of Redisson, or one in Go.
func (b *both) start(t *testing.T, version string) *side {
	s := &side{language: "Java"}
	if version == "" {
		s.language, s.Program = "Go", goside.Start(t)
	} else {
		s.Program = javaside.Start(t, version)
	}
	for i, server := range b.servers {
		c := javaside.Single(server.URL())
		c.Watchdog = watchdog
		s.MustOpen(fmt.Sprint("client", i+1), c)
		c.Watchdog = time.Minute
		s.MustOpen(fmt.Sprint("patient", i+1), c)
	}
	return s
}

// pair is an object for a test, which one thread holds and another wants.
type pair struct {
	*testing.T
	*both
	kind
	a, b *lock
}

// newPair returns an object of its own, in the hands of two programs.
func (b *both) newPair(t *testing.T, k kind, holder, rival *side) *pair {
	t.Helper()
	name := strings.ReplaceAll(strings.ReplaceAll(t.Name(), "/", "_"), ".", "_") + " " + k.String()
	p := &pair{T: t, both: b, kind: k,
		a: &lock{side: holder, kind: k.holds, thread: name + " holder", name: name},
		b: &lock{side: rival, kind: k.wants, thread: name + " rival", name: name},
	}
	p.setPermits()
	return p
}

// setPermits gives a semaphore one permit.
func (p *pair) setPermits() {
	p.Helper()
	if !p.a.isSemaphore() {
		return
	}
	for _, l := range []*lock{p.a, p.b} {
		_, err := l.call(p.Context(), "trySetPermits", 1)
		p.must(err)
	}
}

func (p *pair) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("%v: %v", p.kind, err)
	}
}

// mustTry checks whether a lock is granted at once. A try without an answer is repeated if the machine was late.
func (p *pair) mustTry(l *lock, want bool) {
	p.Helper()
	problem := lateness.Try(p.T, func() string {
		got, err := l.TryLock(p.Context())
		if err == nil && got != want {
			p.Fatalf("%v: tryLock in %s: %v, want %v", p.kind, l.side.language, got, want)
		} else if err != nil {
			return fmt.Sprintf("%v: tryLock in %s: %v", p.kind, l.side.language, err)
		}
		return ""
	})
	if problem != "" {
		p.Fatal(problem)
	}
}

// mustBeGone checks that an unlock fails, as the lock is not held any more.
func (p *pair) mustBeGone(l *lock) {
	p.Helper()
	err := l.Unlock(p.Context())
	if err == nil && l.kind == "red" && l.side.language == "Java" {
		return // it does not tell
	}
	if !errors.Is(err, objects.ErrNotHeld) {
		p.Errorf("%v: unlock in %s by a stranger: %v", p.kind, l.side.language, err)
	}
}

// directions call f with Java as the holder and Go as the rival, and the other way round.
func (b *both) directions(t *testing.T, f func(t *testing.T, holder, rival *side)) {
	t.Run("JavaThenGo", func(t *testing.T) { f(t, b.java, b.golang) })
	t.Run("GoThenJava", func(t *testing.T) { f(t, b.golang, b.java) })
}
