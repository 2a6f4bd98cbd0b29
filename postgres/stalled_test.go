package postgres_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

func TestRequestsToAStalledServerEnd(t *testing.T) {
	t.Parallel()
	s := postgresserver.ForTest(t, postgresserver.Config{})
	pool := dial(t, s)
	const schema = "leasehold"
	if err := postgres.Migrate(t.Context(), pool, schema); err != nil {
		t.Fatal(err)
	}
	drivertest.RunStalled(t,
		func(t *testing.T) driver.Engine { return open(t, pool, schema, postgres.WithoutCrashGuard()) },
		func(t *testing.T) {
			if err := s.Pause(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Resume(); err != nil {
					t.Error(err)
				}
			})
		}, 0)
}
