package javaside

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Milliseconds is an argument that stands for TimeUnit.MILLISECONDS.
const Milliseconds = "ms"

// Patience is how long MustOpen and MustCall wait for an answer: a busy machine starts a client within a minute.
const Patience = 2 * time.Minute

// Call is a call of a method of an object of Redisson.
type Call struct {
	Client string // as it was opened
	Thread string // the Java thread of this client. Default: main.
	Op     string // the kind of the object and the method, such as "lock.tryLock"
	Name   string // of the object
	Args   []any
}

// Error is a Java exception: its class without the package, and its message, as in "IllegalMonitorStateException: …".
type Error string

// Error implements error.
func (e Error) Error() string { return string(e) }

// Class returns the class of the exception, such as "IllegalMonitorStateException". A thread that is interrupted while
// it waits for a server's answer also gets an InterruptedException, in a RedisException.
func (e Error) Class() string {
	class, message, _ := strings.Cut(string(e), ":")
	if class == "RedisException" && strings.Contains(message, "java.lang.InterruptedException") {
		return "InterruptedException"
	}
	return class
}

// Pending is a call that was sent.
type Pending struct {
	done  chan struct{}
	value any
	err   error
}

// Done is closed when there is an answer, or the program has ended.
func (c *Pending) Done() <-chan struct{} { return c.done }

// Wait returns what the method has returned: nil, a bool, an int64, a float64, a string, or a []any or map[string]any
// of those. An exception is an [Error]. If ctx ends first, its error is returned, and the call goes on.
func (c *Pending) Wait(ctx context.Context) (any, error) {
	select {
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Pending) fail(err error) {
	c.err = err
	close(c.done)
}

func (c *Pending) settle(a answer) {
	defer close(c.done)
	if a.Error != "" {
		c.err = Error(a.Error)
		return
	}
	d := json.NewDecoder(bytes.NewReader(a.Value))
	d.UseNumber()
	if err := d.Decode(&c.value); err != nil {
		c.err = fmt.Errorf("javaside: the value %q: %w", a.Value, err)
		return
	}
	c.value = plain(c.value)
}

// plain turns the numbers of a value into int64 or float64.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // it is a number
		return f
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

// Go sends a call and does not wait for its answer. Calls of one thread run one after another.
func (p *Program) Go(c Call) *Pending {
	r := map[string]any{"client": c.Client, "op": c.Op, "name": c.Name}
	if c.Thread != "" {
		r["thread"] = c.Thread
	}
	if c.Args != nil {
		r["args"] = c.Args
	}
	return p.send(r)
}

// Call makes a call and waits for its answer: see [Pending.Wait].
func (p *Program) Call(ctx context.Context, c Call) (any, error) { return p.Go(c).Wait(ctx) }

// MustCall is Call in thread main, and ends the test if it fails or takes longer than [Patience].
func (p *Program) MustCall(client, op, name string, args ...any) any {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	v, err := p.Call(ctx, Call{Client: client, Op: op, Name: name, Args: args})
	if err != nil {
		p.t.Fatalf("%v: %s %s of client %s: %v", p, op, name, client, err)
	}
	return v
}

// Open opens a Redisson client and returns its id: the UUID in the owners that it writes into locks.
func (p *Program) Open(ctx context.Context, client string, c Config) (id string, err error) {
	v, err := p.send(map[string]any{"client": client, "op": "open", "args": c.fields()}).Wait(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(v), nil
}

// MustOpen is Open, and ends the test if it fails or takes longer than [Patience].
func (p *Program) MustOpen(client string, c Config) (id string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	id, err := p.Open(ctx, client, c)
	if err != nil {
		p.t.Fatalf("%v: opening client %s: %v", p, client, err)
	}
	return id
}

// CloseClient shuts a Redisson client down. Its locks stay until their leases end.
func (p *Program) CloseClient(ctx context.Context, client string) error {
	_, err := p.send(map[string]any{"client": client, "op": "close", "thread": "close"}).Wait(ctx)
	return err
}

// Owner returns what a thread of a client writes into locks as their owner: "UUID:THREAD-ID".
func (p *Program) Owner(ctx context.Context, client, thread string) (string, error) {
	v, err := p.Call(ctx, Call{Client: client, Thread: thread, Op: "owner"})
	if err != nil {
		return "", err
	}
	return fmt.Sprint(v), nil
}

// Interrupt interrupts a thread, whose call then fails with an InterruptedException if its method allows that.
func (p *Program) Interrupt(ctx context.Context, client, thread string) error {
	_, err := p.Call(ctx, Call{Client: client, Thread: thread, Op: "interrupt"})
	return err
}

// AwaitSleep returns when a thread, whose call waits for a lock, sleeps until a message comes. To have subscribed and
// asked is not enough: a message that the hold of a writer has ended wakes those threads alone that sleep by then, and
// one that comes between the answer to a thread and its sleep is lost (org.redisson.pubsub.LockPubSub).
func (p *Program) AwaitSleep(ctx context.Context, client, thread string) error {
	for {
		sleeps, err := p.Call(ctx, Call{Client: client, Thread: thread, Op: "sleeps"})
		if err != nil || sleeps == true {
			return err
		}
	}
}
