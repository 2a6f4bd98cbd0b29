package redis

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// batch makes a batch of some takes and releases, with both couriers gone when the errands come, and answers to what comes then.
func (d *desk) batch(limit time.Duration, takes, releases int, answer func(*shipment) (any, error)) (all []*outcome) {
	thaw := make(chan struct{})
	d.answer = stuck(thaw)
	for range mostBusy {
		d.take(time.Hour)
		synctest.Wait()
	}
	d.mu.Lock()
	d.calls = nil
	d.mu.Unlock()
	for range takes {
		all = append(all, d.take(limit))
	}
	for range releases {
		all = append(all, d.release(limit))
	}
	d.answer = answer
	close(thaw)
	return all
}

// If a batch is refused because of one name, each errand goes by itself.
func TestOneNameSpoilsNoBatch(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]string{
		"no right to a name":                           "NOPERM No permissions to access a key",
		"servers behind a proxy, each with some names": "CROSSSLOT Keys in request don't hash to the same slot",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, nil)
				all := d.batch(time.Second, 2, 2, func(s *shipment) (any, error) {
					if s.script == together {
						return nil, refusedWith(refusal)
					}
					return granted(s)
				})
				for _, o := range all {
					<-o.done
					if o.err != nil {
						t.Errorf("an errand by itself: %v", o.err)
					}
				}
				if sent := d.sent(); !slices.Equal(sent, []int{4, 1, 1, 1, 1}) {
					t.Errorf("the scripts did %v errands", sent)
				}
				d.close()
			})
		})
	}
}

// What a server refuses to all, or does not answer, is not sent again.
func TestRefusedBatchIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for text, noEffect := range map[string]bool{
		"LOADING Redis is loading the dataset in memory":          true,
		"READONLY You can't write against a read only replica.":   true,
		"BUSY Redis is busy running a script":                     true,
		"ERR user_script:1: something that nobody has thought of": false,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, nil)
				for _, o := range d.batch(time.Second, 2, 2, func(*shipment) (any, error) { return nil, refusedWith(text) }) {
					<-o.done
					if o.err == nil || driver.IsNo(o.err) || driver.IsPermanent(o.err) || driver.HadNoEffect(o.err) != noEffect {
						t.Errorf("%v (no effect: %v)", o.err, driver.HadNoEffect(o.err))
					}
				}
				if sent := d.sent(); !slices.Equal(sent, []int{4}) {
					t.Errorf("the scripts did %v errands", sent)
				}
				d.close()
			})
		})
	}
}

// Answers that no script gives are not taken for any.
func TestSpoiltAnswersToABatch(t *testing.T) {
	t.Parallel()
	for _, answer := range []any{nil, int64(1), "1111", []any{}, []any{int64(1), int64(1), int64(1)}, []any{int64(1), int64(1), int64(1), int64(1), int64(1)}} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, nil)
			for _, o := range d.batch(time.Second, 2, 2, func(*shipment) (any, error) { return answer, nil }) {
				<-o.done
				if !errors.Is(o.err, errReply) || driver.HadNoEffect(o.err) {
					t.Errorf("after the answer %v: %v, want %v", answer, o.err, errReply)
				}
			}
			d.close()
		})
	}
}

// If a batch is late, each of its callers is told so, once.
func TestLateBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		slow := make(chan struct{})
		all, end := d.batch(time.Second, 2, 2, stuck(slow)), time.Now().Add(time.Second)
		time.Sleep(time.Second)
		for _, o := range all {
			o.gaveUp(t, "late", end, false)
		}
		close(slow)
		for _, o := range all {
			o.gaveUp(t, "late, and answered", end, false)
		}
		if sent := d.sent(); !slices.Equal(sent, []int{4}) {
			t.Errorf("the scripts did %v errands", sent)
		}
		d.close()
	})
}

// A courier who sends errands one by one stops when it is late: its callers have been told that the outcome is unknown, and do not
// expect anything to be sent an hour after.
func TestLateCourierSendsNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		slow := make(chan struct{})
		all := d.batch(time.Second, 2, 2, func(s *shipment) (any, error) {
			switch n := len(d.sent()); {
			case s.script == together:
				return nil, refusedWith("NOPERM No permissions to access a key")
			case n == 3:
				<-slow
			}
			return granted(s)
		})
		end := time.Now().Add(time.Second)
		time.Sleep(time.Second)
		for _, o := range all {
			o.gaveUp(t, "late", end, false)
		}
		close(slow)
		synctest.Wait()
		if sent := d.sent(); !slices.Equal(sent, []int{4, 1, 1}) {
			t.Errorf("the scripts did %v errands: want no more after the courier was late", sent)
		}
		d.close()
	})
}
