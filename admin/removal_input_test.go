package admin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// forgetful is an engine that keeps no records.
type forgetful struct{ *spy }

func (forgetful) Record(context.Context, driver.Removal) error { return driver.ErrUnsupported }

func (forgetful) Records(context.Context, int) ([]driver.Removal, error) {
	return nil, driver.ErrUnsupported
}

func TestRemovalsOfAnEngineWithoutARecord(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		locker, c := newLocker(t, e), admin.New(forgetful{e})
		lease := take(t, locker.Mutex("n").Lock)
		expect(t, c.ForceRelease(t.Context(), driver.Lock, "n", lease.Token()), nil)
		_, err := c.Removals(t.Context(), 0)
		expectOnly(t, err, leasehold.ErrUnsupported)
		if n := e.sent("Record", "Records"); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

// An engine without forced release is not asked for records either.
func TestARemovalThatCannotBe(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		c := admin.New(e)
		for _, token := range []uint64{driver.MaxToken + 1, 1<<64 - 1} {
			expectOnly(t, c.ForceRelease(t.Context(), driver.Lock, "n", token), leasehold.ErrLost)
		}
		for _, bad := range []string{"a\x00b", "\xff", strings.Repeat("x", 1025)} {
			expectOnly(t, c.ForceRelease(t.Context(), driver.Lock, "n", 1, admin.WithOperator(bad)),
				leasehold.ErrInvalid)
			expectOnly(t, c.ForceRelease(t.Context(), driver.Lock, "n", 1, admin.WithReason(bad)),
				leasehold.ErrInvalid)
		}
		expectRefusal(t, c.ForceRelease(t.Context(), driver.Lock, "n", 1, admin.WithOperator("")),
			"operator", `""`)
		expectRefusal(t, c.ForceRelease(t.Context(), driver.Lock, "n", 1, admin.WithReason("\xff")),
			"reason", `\xff`)
		c = admin.New(struct{ driver.Engine }{e}) // nothing but the engine
		expectOnly(t, c.ForceRelease(t.Context(), driver.Lock, "n", 1), leasehold.ErrUnsupported)
		if n := e.sent(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

// Others write the holder text, so it must not keep an operator from taking the lock away.
func TestARemovalFromAHolderWithAHostileText(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		locker, c := newLocker(t, e), admin.New(e)
		for hostile, kept := range map[string]string{
			"":                          "",
			"a\x00b":                    "a\ufffdb",
			"a\xffb":                    "a\ufffdb",
			strings.Repeat("x", 9000):   strings.Repeat("x", 1024),
			strings.Repeat("€", 400):    strings.Repeat("€", 341),
			strings.Repeat("\x00", 600): strings.Repeat("\ufffd", 341),
		} {
			lease := take(t, locker.Mutex("n").Lock)
			time.Sleep(time.Microsecond)
			expect(t, c.ForceRelease(t.Context(), driver.Lock, "n", lease.Token(),
				admin.WithHolderText(hostile)), nil)
			if got := removals(t, c)[0]; got.Holder != kept || got.Token != lease.Token() {
				t.Errorf("of %.20q is kept %.20q (%d bytes)", hostile, got.Holder, len(got.Holder))
			}
		}
	})
}

func TestRemovalsUpToALimit(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		c := admin.New(e)
		for i := range uint64(5) {
			expectOnly(t, c.ForceRelease(t.Context(), driver.Lock, "n", i+1), leasehold.ErrLost)
			time.Sleep(time.Second)
		}
		for limit, want := range map[int]int{0: 5, 1: 1, 3: 3, 5: 5, 2000: 5} {
			all, err := c.Removals(t.Context(), limit)
			if err != nil || len(all) != want || all[0].Token != 5 {
				t.Errorf("of limit %d are %+v, %v", limit, all, err)
			}
		}
		_, err := c.Removals(t.Context(), -1)
		expectRefusal(t, err, "limit", "-1")
		e.fail(func(call) error { return errLost })
		_, err = c.Removals(t.Context(), 0)
		expectOnly(t, err, leasehold.ErrUnavailable)
	})
}
