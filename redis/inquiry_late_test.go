package redis

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/redisurl"
)

// An inquiry may fail at the very moment at which it is overdue. Its error is returned then: the caller does not begin
// again.
func TestInquiryThatFailsWhenItIsOverdue(t *testing.T) {
	t.Parallel()
	for range 20 { // chance decides what is noticed first
		synctest.Test(t, func(t *testing.T) {
			// The second inquiry begins when the first is overdue, and fails when it is overdue itself.
			silent := redisurl.DialQuietly(func(context.Context, string, string) (net.Conn, error) {
				time.Sleep(2 * firstRetryAfter)
				return nil, errors.New("nobody is there")
			})
			client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Dialer: silent, MaxRetries: -1,
				PoolSize: 100})
			e, err := New(client)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			began := time.Now()
			_, err = e.Take(ctx, newRequest())
			if took := time.Since(began); took > 5*firstRetryAfter || err == nil ||
				!strings.Contains(err.Error(), "nobody is there") || !driver.HadNoEffect(err) {
				t.Errorf("after %v: %v", took, err)
			}
			if err := errors.Join(e.Close(), client.Close()); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute) // the inquiries end
		})
	}
}
