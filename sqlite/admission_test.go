package sqlite

import (
	"math"
	"slices"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

func TestEntering(t *testing.T) {
	t.Parallel()
	writer := claim{driver.Exclusive, 1, 1}
	reader := claim{driver.Shared, 1, 1}
	permits := func(n int) claim { return claim{driver.Exclusive, n, 10} }
	nobody := crowd{}
	aWriter := nobody.with(writer)
	aReader := nobody.with(reader)
	eightPermits := nobody.with(permits(8))

	for _, test := range []struct {
		name  string
		kind  driver.Kind
		held  crowd
		queue []claim
		want  int
	}{
		{"nobody waits", driver.Lock, nobody, nil, 0},
		{"one writer at a time", driver.Lock, nobody, []claim{writer, writer}, 1},
		{"a writer keeps everybody out", driver.Lock, aWriter, []claim{reader, reader}, 0},
		{"a reader keeps writers out", driver.Lock, aReader, []claim{writer}, 0},
		{"readers enter together", driver.Lock, nobody, []claim{reader, reader, reader}, 3},
		{"readers join readers", driver.Lock, aReader, []claim{reader, reader}, 2},
		{"readers do not pass a writer", driver.Lock, aReader, []claim{reader, writer, reader}, 1},
		{"readers behind a writer that enters wait", driver.Lock, nobody, []claim{writer, reader}, 1},
		{"permits that fit", driver.Semaphore, eightPermits, []claim{permits(1), permits(1), permits(1)}, 2},
		{"a small claim does not pass a large one", driver.Semaphore, eightPermits, []claim{permits(3), permits(1)}, 0},
		{"a claim that fills the semaphore", driver.Semaphore, nobody, []claim{permits(10)}, 1},
		{"no sum overflows", driver.Semaphore, nobody.with(claim{driver.Exclusive, math.MaxInt, math.MaxInt}), []claim{{driver.Exclusive, 1, math.MaxInt}}, 0},
		{"each claim counts with its own size", driver.Semaphore, eightPermits, []claim{{driver.Exclusive, 1, 8}}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var queue []place
			for i, c := range test.queue {
				queue = append(queue, place{int64(i), c})
			}
			run := entering(test.kind, test.held, slices.Values(queue))
			if !slices.Equal(run, queue[:test.want]) {
				t.Errorf("%v enter, want the first %d of %v", run, test.want, queue)
			}
		})
	}
}
