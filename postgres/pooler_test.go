package postgres_test

import (
	"crypto/rand"
	"sync"
	"testing"

	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

// pooled is how pgx must be told that statements it has prepared may not be there any more.
const pooled = "&default_query_exec_mode=exec&pool_max_conns=4"

// An engine that is opened with polling=on prepares nothing, be it told to or not.
func TestPollingEnginesPrepareNothing(t *testing.T) {
	t.Parallel()
	_, schema := place(t)
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
					takes(t, e, r)
					releases(t, e, r)
				}
			})
		}
		running.Wait()
	}
}

// That a pooler stands in between is found out.
func TestExamineFindsAPooler(t *testing.T) {
	t.Parallel()
	_, schema := place(t)
	b := postgresserver.BouncerForTest(t, shared(t))
	examines(t, open(t, poolAt(t, b.URL()+pooled), schema), "warning pooler")
	examines(t, open(t, poolAt(t, b.URL()+pooled), schema, postgres.WithPolling()))
}
