package objects_test

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// The count of a latch has an end only if it is set with one, so that it does not leave programs in Java alone.
func TestCountDownLatchEndsOnlyIfItIsTold(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := newClient(t, s)
	left := func(key string) time.Duration {
		t.Helper()
		ms, err := s.Command("PTTL", key)
		must(t, err)
		return time.Duration(ms.(int64)) * time.Millisecond
	}
	for name, opts := range map[string][]leasehold.Option{
		"endless": nil, "a minute": {leasehold.TTL(time.Minute)},
	} {
		ok, err := c.CountDownLatch(name, opts...).TrySetCount(t.Context(), 3)
		wantTry(t, true, ok, err)
	}
	if d := left("a minute"); d <= 0 || d > time.Minute {
		t.Errorf("a latch with a time to live of a minute ends in %v", d)
	}
	for range 2 {
		if d := left("endless"); d != -time.Millisecond {
			t.Errorf("a latch ends in %v, want never", d)
		}
		if d := left("leasehold_latch:{endless}"); d <= 0 {
			t.Errorf("what is known of a latch ends in %v, want an end", d)
		}
		// Whoever counts it down does not give it an end.
		_, err := c.CountDownLatch("endless", leasehold.TTL(time.Minute)).CountDown(t.Context())
		must(t, err)
	}
}

// Await waits on when what is known of a latch has expired, and ends when the count is at zero.
func TestAwaitOutlivesWhatIsKnown(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	l := newClient(t, s).CountDownLatch("started")
	ok, err := l.TrySetCount(t.Context(), 2)
	wantTry(t, true, ok, err)
	ended := make(chan error, 1)
	go func() { ended <- newClient(t, s).CountDownLatch("started").Await(t.Context()) }()
	awaitSubscriber(t, s, "redisson_countdownlatch__channel__{started}")
	_, err = s.Command("PEXPIRE", "leasehold_latch:{started}", "1")
	must(t, err)
	for there := any(int64(1)); there != int64(0); {
		there, err = s.Command("EXISTS", "leasehold_latch:{started}")
		must(t, err)
	}
	for _, want := range []int{1, 0} {
		select {
		case err := <-ended:
			t.Fatalf("Await has returned %v with %d left", err, want+1)
		default:
		}
		if n, err := l.CountDown(t.Context()); n != want || err != nil {
			t.Fatalf("CountDown: %d, %v, want %d", n, err, want)
		}
	}
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(5 * time.Second): // it polls after ten
		t.Fatal("Await was not woken")
	}
	ok, err = l.TrySetCount(t.Context(), 1)
	wantTry(t, true, ok, err)
}
