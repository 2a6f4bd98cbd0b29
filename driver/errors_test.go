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
	if NoEffect(nil) != nil || Permanent(nil) != nil || Spent(nil) != nil || KnownHeld(nil) != nil {
		t.Error("a mark makes an error of nil")
	}
}

// That the name is known to be held says nothing about the request that failed.
func TestKnownHeld(t *testing.T) {
	t.Parallel()
	plain := errors.New("connection closed")
	for _, c := range []struct {
		err       error
		knownHeld bool
	}{
		{plain, false}, {Spent(plain), false}, {ErrHeld, true}, {KnownHeld(plain), true},
		{Spent(KnownHeld(plain)), true}, {ErrTooManyWaiters, false}, {nil, false},
	} {
		if IsKnownHeld(c.err) != c.knownHeld {
			t.Errorf("%v: known held: %v", c.err, !c.knownHeld)
		}
	}
	for _, err := range []error{plain, Spent(plain), NoEffect(plain), Permanent(plain)} {
		marked := KnownHeld(err)
		if IsNo(marked) || HadNoEffect(marked) != HadNoEffect(err) || IsSpent(marked) != IsSpent(err) ||
			IsPermanent(marked) != IsPermanent(err) || marked.Error() != err.Error() {
			t.Errorf("%#v has become %#v", err, marked)
		}
	}
}
