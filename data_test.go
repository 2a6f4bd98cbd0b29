package leasehold_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

func setData(t *testing.T, lease *leasehold.Lease, value string) {
	t.Helper()
	if err := lease.SetData(t.Context(), []byte(value)); err != nil {
		t.Fatal(err)
	}
}

// wantData expects the data of a mutex; empty means none.
func wantData(t *testing.T, m *leasehold.Mutex, value string, token uint64) {
	t.Helper()
	d, err := m.Data(t.Context())
	if err != nil || string(d.Value) != value || d.Token != token || value == "" && d.Value != nil {
		t.Fatalf("the data is %q with token %d, %v; want %q with token %d", d.Value, d.Token, err, value, token)
	}
}

func TestDataOutlivesItsLease(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		here, there := newClient(t, e).Mutex("name"), newClient(t, e).Mutex("name")
		wantData(t, here, "", 0)
		first := take(t, here.Lock)
		setData(t, first, "one")
		wantData(t, there, "one", first.Token())
		release(t, first)
		second := take(t, there.Lock)
		wantData(t, there, "one", first.Token())
		setData(t, second, "two")
		setData(t, second, "three")
		wantData(t, here, "three", second.Token())
		setData(t, second, "")
		wantData(t, here, "", 0)
	})
}

// Each of the leases that follow each other without a request has its own token.
func TestDataHasTheTokenOfItsLease(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("name", leasehold.Linger(time.Minute))
		for range 3 {
			lease := take(t, m.Lock)
			setData(t, lease, "x")
			wantData(t, m, "x", lease.Token())
			release(t, lease)
		}
		if n := e.sent("Take"); n != 1 {
			t.Errorf("%d takes were sent, want 1", n)
		}
	})
}

func TestDataOfALeaseThatHasEnded(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("name")
		lease := take(t, m.Lock)
		release(t, lease)
		expectOnly(t, lease.SetData(t.Context(), []byte("x")), leasehold.ErrReleased)
		lease = take(t, m.Lock)
		if err := e.ForceRelease(t.Context(), driver.Key{Kind: driver.Lock, Name: "name"}, lease.Token()); err != nil {
			t.Fatal(err)
		}
		expectOnly(t, lease.SetData(t.Context(), []byte("x")), leasehold.ErrLost)
		wantCause(t, lease.Context(), leasehold.ErrLost) // the holder is told at once
		wantData(t, m, "", 0)
	})
}

func TestWhatHasNoData(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		x := []byte("x")
		permit := take(t, permits(c.Semaphore("name", 2), 1))
		expectOnly(t, permit.SetData(t.Context(), x), leasehold.ErrUnsupported)
		reader := take(t, c.RWMutex("read").RLock)
		expectOnly(t, reader.SetData(t.Context(), x), leasehold.ErrUnsupported)

		lease := take(t, c.Mutex("name").Lock)
		large := []byte(strings.Repeat("x", driver.MaxDataSize+1))
		expect(t, lease.SetData(t.Context(), large), leasehold.ErrInvalid)
		setData(t, lease, string(large[1:]))

		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		expect(t, lease.SetData(cancelled, x), context.Canceled)
		_, err := c.Mutex("name").Data(cancelled)
		expect(t, err, context.Canceled)
		_, err = c.Mutex("").Data(t.Context())
		expect(t, err, leasehold.ErrInvalid)

		plain := newClient(t, struct{ driver.Engine }{e})
		lease = take(t, plain.Mutex("plain").Lock)
		expectOnly(t, lease.SetData(t.Context(), x), leasehold.ErrUnsupported)
		_, err = plain.Mutex("plain").Data(t.Context())
		expectOnly(t, err, leasehold.ErrUnsupported)
	})
}

func TestDataIsSentAgainWithoutAnAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("name")
		lease := take(t, m.Lock)
		failures := 2
		failTwice := func(c call) error {
			if (c.method == "SetData" || c.method == "Data") && failures > 0 {
				failures--
				return errors.New("connection closed")
			}
			return nil
		}
		e.loseReplies(failTwice)
		setData(t, lease, "one")
		failures = 2
		wantData(t, m, "one", lease.Token())
		e.loseReplies(nil)
		failures = 1 << 30
		e.fail(failTwice)
		expectOnly(t, lease.SetData(t.Context(), []byte("two")), leasehold.ErrUnavailable)
		e.fail(nil)
		wantData(t, m, "one", lease.Token())
	})
}

// The engine cannot tell the callers of one hold apart. So a lock whose data is still on its way is not handed over,
// nor kept: the data that comes late would count as that of the next holder.
func TestDataThatIsNotConfirmedEndsItsHold(t *testing.T) {
	type waiting = outcome[*leasehold.Lease]
	for name, hold := range map[string]func(*testing.T, *leasehold.Client) (*leasehold.Lease, *waiting){
		"handed over": func(t *testing.T, c *leasehold.Client) (*leasehold.Lease, *waiting) {
			return handedOverWithTokens(t, c.Mutex("name"))
		},
		"lingers": func(t *testing.T, c *leasehold.Client) (*leasehold.Lease, *waiting) {
			return take(t, c.Mutex("name", leasehold.Linger(time.Minute)).Lock), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, e *spy) {
				c := newClient(t, e)
				first, next := hold(t, c)
				late := make(chan struct{})
				e.fail(func(c call) error {
					if c.method == "SetData" {
						<-late
					}
					return nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				expect(t, first.SetData(ctx, []byte("late")), context.DeadlineExceeded)
				release(t, first)
				if next == nil {
					next = start(t.Context(), c.Mutex("name", leasehold.Linger(time.Minute)).Lock)
				}
				second := next.wantValue(t)
				defer second.Release()
				e.fail(nil)
				m := c.Mutex("name")
				wantData(t, m, "", 0)
				close(late)
				synctest.Wait()
				wantData(t, m, "", 0)
				setData(t, second, "of the second")
				wantData(t, m, "of the second", second.Token())
			})
		})
	}
}
