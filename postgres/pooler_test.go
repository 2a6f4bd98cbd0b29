package postgres_test

import (
	"crypto/rand"
	"sync"
	"testing"

	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

// pooled tells pgx that statements it has prepared may not exist any more.
const pooled = "&default_query_exec_mode=exec&pool_max_conns=4"

// An engine that is opened with polling=on prepares nothing, unless it is told to.
func TestPollingEnginesPrepareNothing(t *testing.T) {
	t.Parallel()
	_, schema := newTables(t)
	b := postgresserver.BouncerForTest(t, shared(t))
	for range 2 { // the second one meets what the first has prepared
		e, err := postgres.Open(t.Context(), b.URL()+"&polling=on&schema="+schema)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		var running sync.WaitGroup
		for range 8 {
			running.Go(func() {
				for range 10 {
					r := lock(rand.Text())
					mustTake(t, e, r)
					mustRelease(t, e, r)
				}
			})
		}
		running.Wait()
	}
}

// Examine finds out that there is a pooler.
func TestExamineFindsAPooler(t *testing.T) {
	t.Parallel()
	_, schema := newTables(t)
	b := postgresserver.BouncerForTest(t, shared(t))
	mustExamine(t, open(t, poolAt(t, b.URL()+pooled), schema), "warning pooler")
	mustExamine(t, open(t, poolAt(t, b.URL()+pooled), schema, postgres.WithPolling()))
}
