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
)

// A question may fail at the very moment at which it is late. Its error is told then: whoever waits does not begin again from the start.
func TestAQuestionThatFailsWhenItIsLate(t *testing.T) {
	t.Parallel()
	for range 20 { // it is a matter of chance what is seen first
		synctest.Test(t, func(t *testing.T) {
			// The second question is asked when the first is late, and fails when it is late itself.
			silent := quiet(func(context.Context, string, string) (net.Conn, error) {
				time.Sleep(2 * slow)
				return nil, errors.New("nobody is there")
			})
			client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Dialer: silent, MaxRetries: -1, PoolSize: 100})
			e, err := New(client)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			began := time.Now()
			_, err = e.Take(ctx, asking())
			if took := time.Since(began); took > 5*slow || err == nil || !strings.Contains(err.Error(), "nobody is there") || !driver.HadNoEffect(err) {
				t.Errorf("after %v: %v", took, err)
			}
			if err := errors.Join(e.Close(), client.Close()); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute) // what was asked comes to its end
		})
	}
}
