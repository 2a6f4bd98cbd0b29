package keyset_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/keyset"
)

func TestSet(t *testing.T) {
	t.Parallel()
	var s keyset.Set[string]
	if s.Has("a") || s.Remove("a") {
		t.Error("something is in an empty set")
	}
	s.Add("a")
	s.Add("a")
	s.Add("b")
	if !s.Has("a") || !s.Has("b") || s.Has("c") || s.Remove("c") {
		t.Error("a and b are in, and c is not")
	}
	if !s.Remove("a") || s.Remove("a") || s.Has("a") || !s.Has("b") || !s.Remove("b") || s.Has("b") {
		t.Error("what was taken out is in, or what was not is out")
	}
}
