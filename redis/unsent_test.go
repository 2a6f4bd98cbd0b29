package redis_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// openUnanswered opens an engine, and starts a take that sends nothing as long as the server is silent.
func openUnanswered(t *testing.T, url string) (e *redis.Engine, r driver.Request, taken <-chan error) {
	t.Helper()
	e, err := redis.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	r = lasting("a", time.Minute)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	t.Cleanup(cancel)
	outcome := make(chan error, 1)
	go func() {
		_, err := e.Take(ctx, r)
		outcome <- err
	}()
	return e, r, outcome
}

// wantNothingSent releases an owner for which nothing was sent: this needs no request.
func wantNothingSent(t *testing.T, e *redis.Engine, r driver.Request) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := e.Release(ctx, driver.Release{Hold: hold(r)}); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Release: %v, want ErrNotHeld", err)
	}
}

// A server may accept connections and stay silent.
func TestReleaseOfWhatWasNotSentAsksNobody(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"redis://%", "rediss://%", "redis+cluster://%", "redis+sentinel://%/main"} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			l := silent(t)
			address := strings.Replace(url, "%", l.Addr().String(), 1)
			e, r, _ := openUnanswered(t, address+"?timeout=10m&dial_timeout=10m")
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			wantNothingSent(t, e, r)
			wantNothingSent(t, e, r)
		})
	}
}

// When the server answers after all, a withdrawn request is not sent.
func TestWhatWasWithdrawnIsNeverSent(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	l := silent(t)
	e, r, taken := openUnanswered(t, "redis://"+l.Addr().String()+"?timeout=10m&dial_timeout=10m&guard=off")
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	wantNothingSent(t, e, r)
	go connect(c, s.Addr())
	go passOn(l, s.Addr())
	if err := <-taken; !driver.HadNoEffect(err) || driver.IsNo(err) {
		t.Errorf("Take of an owner that was released: %v, want an error without effect", err)
	}
	mustTake(t, e, lasting("a", time.Minute)) // nobody has it
}

// If an owner is used again when the server is known meanwhile, its request is sent, and its release, too.
func TestWhatIsSentTheSecondTimeIsReleased(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for name, again := range map[string]func(*testing.T, *redis.Engine, driver.Request){
		"Take":      func(t *testing.T, e *redis.Engine, r driver.Request) { mustTake(t, e, r) },
		"TakeAll":   func(t *testing.T, e *redis.Engine, r driver.Request) { mustTakeAll(t, e, []driver.Request{r}) },
		"StartTake": func(t *testing.T, e *redis.Engine, r driver.Request) { checkGranted(t, <-startTake(e, r)) },
		"Wait": func(t *testing.T, e *redis.Engine, r driver.Request) {
			g, err := e.Wait(t.Context(), r)
			checkGranted(t, result{g, err})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := silent(t)
			e, err := redis.Open("redis://" + l.Addr().String() + "?guard=off")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { e.Close() })
			r := lasting(name, time.Minute)
			soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if _, err := e.Take(soon, r); !driver.HadNoEffect(err) || driver.IsNo(err) {
				t.Fatalf("Take while the server says nothing: %v, want an error without effect", err)
			}
			go passOn(l, s.Addr())
			err = renewOne(t.Context(), e, hold(lasting("nobody's", time.Minute)), time.Minute)
			if !errors.Is(err, driver.ErrNotHeld) {
				t.Fatalf("renewing what nobody holds: %v", err)
			}
			again(t, e, r)
			release(t, e, r)
			mustTake(t, e, lasting(name, time.Minute)) // nobody has it
		})
	}
}

func checkGranted(t *testing.T, r result) {
	t.Helper()
	if r.err != nil || r.Token == 0 {
		t.Fatalf("token %d, %v", r.Token, r.err)
	}
}

// silent listens, and is silent as long as nobody accepts.
func silent(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// passOn connects all clients to a server.
func passOn(l net.Listener, to string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go connect(c, to)
	}
}

// connect connects a client to a server.
func connect(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	_, _ = io.Copy(client, server)
}
