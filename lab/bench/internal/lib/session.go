package lib

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

const (
	tree = "github.com/leasehold-go/leasehold"

	onServer = "defaults; "
)

// leaseholdSession is this library on any of its engines.
type leaseholdSession struct {
	client  *leasehold.Client
	admin   *admin.Client
	options []leasehold.Option
	closers []func() error
}

// newLeaseholdSession returns a session on an engine. Close calls the closers in this order; they
// close the engine and what is below it.
func newLeaseholdSession(at Config, e driver.Engine, closers ...func() error) *leaseholdSession {
	s := &leaseholdSession{client: leasehold.New(e), admin: admin.New(e), closers: closers}
	if at.TTL != 0 {
		s.options = append(s.options, leasehold.TTL(at.TTL))
	}
	return s
}

func (s *leaseholdSession) Lock(ctx context.Context, name string) (Held, error) {
	lease, err := s.client.Mutex(name, s.options...).Lock(ctx)
	if err != nil {
		return Held{}, err
	}
	return Held{Token: lease.Token(), Release: lease.Release}, nil
}

func (s *leaseholdSession) Close() error {
	return errors.Join(s.client.Close(), closeInOrder(s.closers))
}

// closeInOrder calls all closers, even after errors.
func closeInOrder(closers []func() error) error {
	var errs []error
	for _, end := range closers {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}
