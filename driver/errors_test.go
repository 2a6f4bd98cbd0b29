package driver

import (
	"errors"
	"testing"
)

func TestMarksOfErrors(t *testing.T) {
	t.Parallel()
	plain := errors.New("connection closed")
	for _, c := range []struct {
		err                   error
		no, effect, permanent bool
	}{
		{plain, false, false, false},
		{ErrHeld, true, true, false},
		{ErrNotHeld, true, true, false},
		{ErrNotSet, true, true, false},
		{ErrNotTogether, false, true, false},
		{ErrSilent, false, false, false},
		{NoEffect(plain), false, true, false},
		{Permanent(plain), false, true, true},
		{nil, false, false, false},
	} {
		if IsNo(c.err) != c.no || HadNoEffect(c.err) != c.effect || IsPermanent(c.err) != c.permanent {
			t.Errorf("%v: no %v, no effect %v, permanent %v", c.err, IsNo(c.err), HadNoEffect(c.err),
				IsPermanent(c.err))
		}
	}
	if NoEffect(nil) != nil || Permanent(nil) != nil {
		t.Error("a mark makes an error of nil")
	}
}
