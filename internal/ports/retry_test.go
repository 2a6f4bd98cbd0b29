package ports

import (
	"errors"
	"net"
	"testing"
)

// Retry starts again only if a port is lost, and not for ever.
func TestRetry(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", Address(0))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, lost := net.Listen("tcp", l.Addr().String())
	other := errors.New("something else")
	for _, c := range []struct {
		errs  []error
		calls int
		want  error
	}{
		{[]error{nil}, 1, nil},
		{[]error{lost, lost, nil}, 3, nil},
		{[]error{other, nil}, 1, other},
		{[]error{lost, other, nil}, 2, other},
		{[]error{lost, lost, lost, lost, lost, nil}, 5, lost},
	} {
		calls := 0
		err := Retry(func() error {
			calls++
			return c.errs[calls-1]
		})
		if calls != c.calls || err != c.want {
			t.Errorf("%v: %d calls, %v", c.errs, calls, err)
		}
	}
}
