package driver

import (
	"errors"
	"testing"
)

func TestNewerDataReplacesOlder(t *testing.T) {
	t.Parallel()
	stored := Data{Token: 7, Number: 3}
	for _, c := range []struct {
		token, number uint64
		replaces      bool
		err           error
	}{
		{7, 4, true, nil},
		{8, 1, true, nil},
		{7, 3, false, nil},
		{7, 2, false, nil},
		{6, 9, false, ErrNotHeld},
	} {
		replaces, err := Data{Token: c.token, Number: c.number}.Replaces(stored)
		if replaces != c.replaces || !errors.Is(err, c.err) {
			t.Errorf("token %d, number %d: %v, %v", c.token, c.number, replaces, err)
		}
	}
	if replaces, err := (Data{Token: 1, Number: 1}).Replaces(Data{}); !replaces || err != nil {
		t.Errorf("the first data: %v, %v", replaces, err)
	}
}
