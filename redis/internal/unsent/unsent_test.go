package unsent_test

import (
	"strconv"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/unsent"
)

func TestNothingIsSentForWhomWasReleased(t *testing.T) {
	t.Parallel()
	var s unsent.Owners
	if s.Withdraw("a") {
		t.Error("nobody has asked for a")
	}
	first, both, never := s.NotePending("a"), s.NotePending("b", "c"), s.NotePending("d")
	if err := never(false); err != nil || !s.Withdraw("d") || !s.Withdraw("d") {
		t.Errorf("nothing was sent for d: %v", err)
	}
	if !s.Withdraw("c") {
		t.Error("nothing was sent for c")
	}
	if err := both(true); err != unsent.ErrWithdrawn || !driver.HadNoEffect(err) {
		t.Errorf("c was released: %v", err)
	}
	if err := first(true); err != nil || s.Withdraw("a") {
		t.Errorf("something was sent for a: %v", err)
	}
}

// Whoever asks at the same time for the same owner may have sent something.
func TestNobodyIsWithdrawnWhenSomethingWasSent(t *testing.T) {
	t.Parallel()
	var s unsent.Owners
	released, one, other := s.NotePending("a"), s.NotePending("b"), s.NotePending("b")
	if !s.Withdraw("a") {
		t.Error("nothing was sent for a")
	}
	if err := one(true); err != nil || s.Withdraw("b") {
		t.Errorf("something was sent for b: %v", err)
	}
	if err := other(true); err != nil {
		t.Errorf("b was not released: %v", err)
	}
	if err := released(true); err != unsent.ErrWithdrawn {
		t.Errorf("a was released: %v", err)
	}
}

// Whoever asks again may find that the server is known by now, and send at once.
func TestNobodyIsWithdrawnWhoHasSentTheSecondTime(t *testing.T) {
	t.Parallel()
	var s unsent.Owners
	for _, name := range []string{"a", "b"} {
		if err := s.NotePending(name)(false); err != nil {
			t.Fatal(err)
		}
	}
	if !s.Withdraw("b") {
		t.Error("nothing was sent for b")
	}
	if err := s.NoteSent("a", "b"); err != unsent.ErrWithdrawn {
		t.Errorf("b was released: %v", err)
	}
	if err := s.NoteSent("a"); err != nil || s.Withdraw("a") {
		t.Errorf("something was sent for a: %v", err)
	}
}

func TestMemoryIsLimited(t *testing.T) {
	t.Parallel()
	var s unsent.Owners
	for i := range 3000 {
		if err := s.NotePending(strconv.Itoa(i))(false); err != nil {
			t.Fatal(err)
		}
	}
	if s.Withdraw("0") || !s.Withdraw("2999") {
		t.Error("the latest are to be remembered, and no others")
	}
}

// What was sent once stays so, if its owner asks again and has to wait then.
func TestNobodyIsWithdrawnForWhomSomethingWasSentBefore(t *testing.T) {
	t.Parallel()
	var s unsent.Owners
	if err := s.NoteSent("a"); err != nil {
		t.Errorf("nobody has released a: %v", err)
	}
	again := s.NotePending("a")
	if s.Withdraw("a") {
		t.Error("something was sent for a")
	}
	if err := again(true); err != nil {
		t.Errorf("nobody has released a: %v", err)
	}
}
