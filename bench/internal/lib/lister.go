package lib

import (
	"context"

	"github.com/leasehold-go/leasehold"
)

// Lister is a Session that lists locks.
type Lister interface {
	// Page returns how many locks the first page of a listing has.
	Page(ctx context.Context, size int) (int, error)
	// All returns the number of locks, after reading each.
	All(ctx context.Context) (int, error)
}

// Page implements Lister.
func (s *leaseholdSession) Page(ctx context.Context, size int) (int, error) {
	page, err := s.client.List(ctx, leasehold.Query{Limit: size})
	return len(page), err
}

// All implements Lister.
func (s *leaseholdSession) All(ctx context.Context) (n int, _ error) {
	for _, err := range s.client.All(ctx, leasehold.Query{}) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
