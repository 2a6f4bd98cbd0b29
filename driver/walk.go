package driver

import "context"

// Walker is implemented by an engine with the ability Walk: it has to search for names, so that
// listing page by page would repeat the search for each page.
type Walker interface {
	// Walk reports everything that matches the query, in the order of List. It ignores Query.Limit
	// and reports the progress of the search to Query.Progress.
	//
	// It calls visit, in the caller's goroutine, with one non-empty piece after the other. It
	// returns nil after the last piece, or as soon as visit returns false. A deadline is not
	// needed: the engine limits the time of each request that it sends, and reads few names in
	// each, so that it does not lock others out. It returns an error soon after ctx ends.
	//
	// Names that come or go meanwhile may be missed or reported. A name that exists all the time is
	// reported exactly once.
	Walk(ctx context.Context, q Query, visit func(piece []Status) bool) error
}
