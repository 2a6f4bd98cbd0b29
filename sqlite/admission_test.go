package sqlite

import (
	"math"
	"slices"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

func TestGrantable(t *testing.T) {
	t.Parallel()
	writer := demand{driver.Exclusive, 1, 1}
	reader := demand{driver.Shared, 1, 1}
	permits := func(n int) demand { return demand{driver.Exclusive, n, 10} }
	nobody := holderSum{}
	aWriter := nobody.plus(writer)
	aReader := nobody.plus(reader)
	eightPermits := nobody.plus(permits(8))

	for _, test := range []struct {
		name  string
		kind  driver.Kind
		held  holderSum
		queue []demand
		want  int
	}{
		{"nobody waits", driver.Lock, nobody, nil, 0},
		{"one writer at a time", driver.Lock, nobody, []demand{writer, writer}, 1},
		{"a writer keeps everybody out", driver.Lock, aWriter, []demand{reader, reader}, 0},
		{"a reader keeps writers out", driver.Lock, aReader, []demand{writer}, 0},
		{"readers enter together", driver.Lock, nobody, []demand{reader, reader, reader}, 3},
		{"readers join readers", driver.Lock, aReader, []demand{reader, reader}, 2},
		{"readers do not pass a writer", driver.Lock, aReader, []demand{reader, writer, reader}, 1},
		{"readers behind a writer that enters wait", driver.Lock, nobody, []demand{writer, reader}, 1},
		{"permits that fit", driver.Semaphore, eightPermits, []demand{permits(1), permits(1), permits(1)}, 2},
		{"a small request waits behind a large one", driver.Semaphore, eightPermits,
			[]demand{permits(3), permits(1)}, 0},
		{"a request for all permits", driver.Semaphore, nobody, []demand{permits(10)}, 1},
		{"no sum overflows", driver.Semaphore, nobody.plus(demand{driver.Exclusive, math.MaxInt, math.MaxInt}),
			[]demand{{driver.Exclusive, 1, math.MaxInt}}, 0},
		{"each request counts with its own size", driver.Semaphore, eightPermits,
			[]demand{{driver.Exclusive, 1, 8}}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var queue []queueEntry
			for i, c := range test.queue {
				queue = append(queue, queueEntry{int64(i), c})
			}
			run := grantable(test.kind, test.held, slices.Values(queue))
			if !slices.Equal(run, queue[:test.want]) {
				t.Errorf("%v enter, want the first %d of %v", run, test.want, queue)
			}
		})
	}
}
