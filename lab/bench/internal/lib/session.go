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
	later   bool // releases do not wait
	closers []func() error
}

// newLeaseholdSession returns a session on an engine. Close calls the closers in this order; they
// close the engine and what is below it.
func newLeaseholdSession(at Config, e driver.Engine, closers ...func() error) *leaseholdSession {
	var options []leasehold.ClientOption
	if at.Observer != nil {
		options = append(options, leasehold.WithObserver(at.Observer))
	}
	s := &leaseholdSession{client: leasehold.New(e, options...), admin: admin.New(e), closers: closers}
	if at.TTL != 0 {
		s.options = append(s.options, leasehold.TTL(at.TTL))
	}
	return s
}

func (s *leaseholdSession) Lock(ctx context.Context, name string) (Held, error) {
	lease, err := s.client.Mutex(name, s.options...).Lock(ctx)
	return s.held(lease, err)
}

func (s *leaseholdSession) TryLock(ctx context.Context, name string) (held Held, granted bool, err error) {
	lease, err := s.client.Mutex(name, s.options...).TryLock(ctx)
	if errors.Is(err, leasehold.ErrHeld) {
		return Held{}, false, nil
	}
	held, err = s.held(lease, err)
	return held, err == nil, err
}

// Client returns the client itself.
func (s *leaseholdSession) Client() *leasehold.Client { return s.client }

func (s *leaseholdSession) held(lease *leasehold.Lease, err error) (Held, error) {
	if err != nil {
		return Held{}, err
	}
	if s.later {
		return Held{Token: lease.Token(), Release: func() error { lease.ReleaseLater(); return nil }}, nil
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
