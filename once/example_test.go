package once_test

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/memory"
	"github.com/leasehold-go/leasehold/once"
)

// Two processes have the same job. One of them runs the tick, and the other learns who has.
func ExampleJob_Do() {
	engine := memory.New() // in a program: an engine that all processes share
	threeOClock := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	for _, process := range []string{"batch-1", "batch-2"} {
		client := leasehold.New(engine, leasehold.WithHolder(process))
		defer client.Close()
		job := once.New(client, "nightly-report")
		report := func(ctx context.Context, w *once.Work) error {
			fmt.Println(process, "writes the report of", w.Tick())
			return nil
		}
		result, err := job.Do(context.Background(), once.At(threeOClock), report)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(process, "ran it:", result.Ran, "- it was run by", result.Run.By)
	}
	// Output:
	// batch-1 writes the report of 2026-03-01T03:00:00Z
	// batch-1 ran it: true - it was run by batch-1
	// batch-2 ran it: false - it was run by batch-1
}

// A migration runs once for each key, in the order of the keys.
func ExampleKey() {
	client := leasehold.New(memory.New())
	defer client.Close()
	job := once.New(client, "migrations", once.RetryFailed())
	for _, key := range []string{"0001-tables", "0002-index", "0001-tables"} {
		_, err := job.Do(context.Background(), once.Key(key), func(ctx context.Context, w *once.Work) error {
			fmt.Println("migrating:", w.Tick())
			return nil
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// migrating: 0001-tables
	// migrating: 0002-index
}

// Every and CatchUp: what was missed while no process was up runs when one is, the oldest first.
func ExampleCatchUp() {
	client := leasehold.New(memory.New())
	defer client.Close()
	job := once.New(client, "import", once.CatchUp(3))
	load := func(ctx context.Context, w *once.Work) error {
		fmt.Println("import of", w.Tick().Time().Format(time.Kitchen))
		return nil
	}
	nine := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for _, now := range []time.Time{nine, nine.Add(5*time.Hour + time.Minute)} {
		_, err := job.DoDue(context.Background(), once.Every(time.Hour), now, load)
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// import of 9:00AM
	// import of 12:00PM
	// import of 1:00PM
	// import of 2:00PM
}
