package work

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	engine "github.com/leasehold-go/leasehold/memory"
)

// trying grants everything to those who try.
type trying struct {
	granter
	token uint64
}

func (t trying) TryLock(context.Context, string) (lib.Held, bool, error) {
	return lib.Held{Token: t.token, Release: func() error { return nil }}, true, nil
}

func TestNamesThatAreGrantedWhileTheyAreHeldAreCounted(t *testing.T) {
	t.Parallel()
	client := leasehold.New(engine.New())
	defer client.Close()
	lease, err := client.Mutex("million:0").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := &millionBench{prefix: "million:", leases: []*leasehold.Lease{lease}}
	for _, c := range []struct {
		what    string
		token   uint64
		release bool
		want    int
	}{
		{"while it is held", lease.Token() + 1, false, 1},
		{"after it", lease.Token() + 1, true, 0},
		{"after it, with its token", lease.Token(), true, 1},
	} {
		if c.release {
			if err := lease.Release(); err != nil {
				t.Fatal(err)
			}
		}
		var p probes
		m.other = trying{token: c.token}
		if m.probe(t.Context(), &p); p.granted != 1 || p.overlaps != c.want {
			t.Errorf("granted %s: %+v, want %d overlaps", c.what, p, c.want)
		}
	}
}

// A third of the ttl must pass in which almost all that are left are renewed.
func TestFullRateOfRenewals(t *testing.T) {
	t.Parallel()
	const size, ttl = 1000, 30 * time.Second
	for perSecond, want := range map[int64]float64{size / 10: 1.0 / 3, size / 5: 1.0 / 3, size / 20: math.Inf(1)} {
		synctest.Test(t, func(t *testing.T) {
			m := &millionBench{env: Env{Plan: Plan{Size: size, TTL: ttl}}}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for pause(ctx, time.Second/10) == nil {
					m.renewed.Add(perSecond / 10)
				}
			}()
			back, err := m.awaitFullRate(ctx, time.Now(), 2*ttl)
			cancel()
			if err != nil || back != want {
				t.Errorf("%d renewals/s: %v times the ttl, %v; want %v", perSecond, back, err, want)
			}
		})
	}
}
