package lib

import (
	"context"

	"github.com/leasehold-go/leasehold/admin"
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
	page, err := s.admin.List(ctx, admin.Query{Limit: size})
	return len(page), err
}

// All implements Lister.
func (s *leaseholdSession) All(ctx context.Context) (n int, _ error) {
	for _, err := range s.admin.All(ctx, admin.Query{}) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
