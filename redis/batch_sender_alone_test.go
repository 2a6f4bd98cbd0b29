package redis

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// startBatch starts some takes and releases while both senders are busy, so that they make one batch, lets the senders
// go on, and answers all later scripts by a function.
func (bt *batcherTest) startBatch(limit time.Duration, takes, releases int,
	answer func(*sentScript) (any, error)) (all []*outcome) {
	thaw := make(chan struct{})
	bt.answer = answerAfter(thaw)
	for range maxSenders {
		bt.take(time.Hour)
		synctest.Wait()
	}
	bt.mu.Lock()
	bt.calls = nil
	bt.mu.Unlock()
	for range takes {
		all = append(all, bt.take(limit))
	}
	for range releases {
		all = append(all, bt.release(limit))
	}
	bt.answer = answer
	close(thaw)
	return all
}

// If a batch is refused because of one name, each request is sent again by itself.
func TestRefusedNameDoesNotFailItsBatch(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]string{
		"no right to a name":                           "NOPERM No permissions to access a key",
		"servers behind a proxy, each with some names": "CROSSSLOT Keys in request don't hash to the same slot",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				bt := newBatcherTest(t, nil)
				all := bt.startBatch(time.Second, 2, 2, func(s *sentScript) (any, error) {
					if s.script == scriptBatch {
						return nil, refusedWith(refusal)
					}
					return granted(s)
				})
				for _, o := range all {
					<-o.done
					if o.err != nil {
						t.Errorf("a request by itself: %v", o.err)
					}
				}
				if sent := bt.sent(); !slices.Equal(sent, []int{4, 1, 1, 1, 1}) {
					t.Errorf("the scripts had %v requests", sent)
				}
				bt.close()
			})
		})
	}
}

// A batch that a server refuses as a whole, or does not answer, is not sent again.
func TestRefusedBatchIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for text, noEffect := range map[string]bool{
		"LOADING Redis is loading the dataset in memory":        true,
		"READONLY You can't write against a read only replica.": true,
		"BUSY Redis is busy running a script":                   true,
		"ERR user_script:1: an error without a known meaning":   false,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				bt := newBatcherTest(t, nil)
				for _, o := range bt.startBatch(time.Second, 2, 2,
					func(*sentScript) (any, error) { return nil, refusedWith(text) }) {
					<-o.done
					if o.err == nil || driver.IsNo(o.err) || driver.IsPermanent(o.err) ||
						driver.HadNoEffect(o.err) != noEffect {
						t.Errorf("%v (no effect: %v)", o.err, driver.HadNoEffect(o.err))
					}
				}
				if sent := bt.sent(); !slices.Equal(sent, []int{4}) {
					t.Errorf("the scripts had %v requests", sent)
				}
				bt.close()
			})
		})
	}
}

// An answer that no script gives is an error of unknown outcome.
func TestInvalidAnswersToABatch(t *testing.T) {
	t.Parallel()
	for _, answer := range []any{nil, int64(1), "1111", []any{}, []any{int64(1), int64(1), int64(1)},
		[]any{int64(1), int64(1), int64(1), int64(1), int64(1)}} {
		synctest.Test(t, func(t *testing.T) {
			bt := newBatcherTest(t, nil)
			for _, o := range bt.startBatch(time.Second, 2, 2, func(*sentScript) (any, error) { return answer, nil }) {
				<-o.done
				if !errors.Is(o.err, errReply) || driver.HadNoEffect(o.err) {
					t.Errorf("after the answer %v: %v, want %v", answer, o.err, errReply)
				}
			}
			bt.close()
		})
	}
}

// If a batch has no answer in time, each of its callers gets one error, which says that the owner is spent. What the
// late answer grants is released.
func TestLateBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bt := newBatcherTest(t, nil)
		slow := make(chan struct{})
		all, end := bt.startBatch(time.Second, 2, 2, answerAfter(slow)), time.Now().Add(time.Second)
		time.Sleep(time.Second)
		for _, o := range all {
			o.checkGaveUp(t, "late", end, false)
			if !driver.IsSpent(o.err) {
				t.Errorf("%v, want that the owner is spent", o.err)
			}
		}
		close(slow)
		for _, o := range all {
			o.checkGaveUp(t, "late, and answered", end, false)
		}
		if sent := bt.sent(); !slices.Equal(sent, []int{4, 1, 1}) {
			t.Errorf("the scripts had %v requests, want 2 takes and 2 releases, and then each release alone", sent)
		}
		bt.close()
	})
}

// A sender that sends requests one by one stops when it is overdue: its callers know that the outcome is
// unknown, and do not expect a request to be sent an hour later.
func TestOverdueSenderSendsNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bt := newBatcherTest(t, nil)
		slow := make(chan struct{})
		all := bt.startBatch(time.Second, 2, 2, func(s *sentScript) (any, error) {
			switch n := len(bt.sent()); {
			case s.script == scriptBatch:
				return nil, refusedWith("NOPERM No permissions to access a key")
			case n == 3:
				<-slow
			}
			return granted(s)
		})
		end := time.Now().Add(time.Second)
		time.Sleep(time.Second)
		for _, o := range all {
			o.checkGaveUp(t, "late", end, false)
			if !driver.IsSpent(o.err) {
				t.Errorf("%v, want that the owner is spent", o.err)
			}
		}
		close(slow)
		synctest.Wait()
		if sent := bt.sent(); !slices.Equal(sent, []int{4, 1, 1}) {
			t.Errorf("the scripts had %v requests: want no more after the sender was overdue", sent)
		}
		bt.close()
	})
}
