package driver

import "context"

// Walker is what an engine with the ability Walk implements too: one that has to search for names, so that a List of each page would search
// anew each time.
type Walker interface {
	// Walk tells of everything that the query matches, in the order of List. Query.Limit is of no account; Query.Progress is
	// told how the search goes on.
	//
	// It calls visit, in the goroutine of its caller, with one piece after the other, none of which is empty, and returns nil when all has been told, or as
	// soon as visit returns false. There need be no deadline: the engine bounds each request that it sends, and looks at a few names in each, so that
	// others are not locked out. It returns an error soon after ctx ends.
	//
	// Names that come or go meanwhile may be missed or told. What is there all the time is told exactly once.
	Walk(ctx context.Context, q Query, visit func(piece []Status) bool) error
}
