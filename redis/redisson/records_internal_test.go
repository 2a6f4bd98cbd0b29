package redisson

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// A request is repeated over a long outage, unless very many are.
func TestRequestsAreRepeatedOverALongOutage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others int64
		ends   time.Duration // of the outage
		last   error
		want   time.Duration // until when it is repeated, at least
	}{
		"Answered":  {0, 25 * time.Minute, nil, 25 * time.Minute},
		"Refused":   {0, 25 * time.Minute, driver.Permanent(errors.New("refused")), 25 * time.Minute},
		"TooLate":   {0, 2 * repeatTime, nil, repeatTime},
		"Crowd":     {maxRepeats, 25 * time.Minute, nil, shortRepeat},
		"ShortOnes": {maxRepeats, 10 * time.Second, nil, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var long atomic.Int64
				long.Store(c.others)
				began, answers := time.Now(), 0
				repeat(t.Context(), repeatTime, &long, func(context.Context) error {
					if time.Since(began) < c.ends {
						return errors.New("no answer")
					}
					answers++
					return c.last
				})
				if took := time.Since(began); took < c.want || took > c.want+5*time.Second {
					t.Errorf("it was repeated for %v", took)
				}
				if answered := c.want == c.ends; answered != (answers == 1) || long.Load() != c.others {
					t.Errorf("%d answers; %d others are repeated, want %d", answers, long.Load(), c.others)
				}
			})
		})
	}
}

// An Acquire that goes on after an outage of half an hour takes permits once: it undoes what it asked for before.
func TestAcquireGoesOnAfterALongOutage(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: redisserver.ForTest(t, redisserver.Config{}).Addr()})
	e, err := New(client)
	if err != nil {
		t.Fatal(err)
	}
	s := e.Semaphore("pool")
	if err := s.AddPermits(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	a := s.newAttempt(1)
	a.uncertain = time.Now()
	record := a.record
	for i := range 2 {
		ok, err := a.take(t.Context())
		if !ok || err != nil {
			t.Error(ok, err)
		}
		if i == 0 {
			a.uncertain = time.Now().Add(-repeatTime - time.Second) // as if no answer had come
		}
	}
	if a.record == record {
		t.Error("the server may have forgotten the record with which it asks")
	}
	a.end()
	if err := e.Close(); err != nil { // which awaits the background
		t.Error(err)
	}
	if n, err := client.Get(t.Context(), "pool").Int(); n != 2 || err != nil {
		t.Errorf("%d permits are left, want 2: %v", n, err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}
