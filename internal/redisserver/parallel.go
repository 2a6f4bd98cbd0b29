package redisserver

import (
	"errors"
	"sync"
)

// runAll calls do for 0 to n-1, all at the same time, and returns all errors.
func runAll(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// startAll starts n servers at the same time: all or none.
func startAll(n int, start func(i int) (*Server, error)) ([]*Server, error) {
	all := make([]*Server, n)
	err := runAll(n, func(i int) (err error) {
		all[i], err = start(i)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, closeAll(all))
	}
	return all, nil
}

// closeAll closes the servers that are not nil.
func closeAll(all []*Server) error {
	return runAll(len(all), func(i int) error {
		if all[i] == nil {
			return nil
		}
		return all[i].Close()
	})
}

func addrs(all []*Server) []string {
	list := make([]string, len(all))
	for i, s := range all {
		list[i] = s.Addr()
	}
	return list
}
