package checker

import (
	"path/filepath"
	"testing"
)

func TestTurnsInOrderAreFine(t *testing.T) {
	t.Parallel()
	j := New()
	for turn := range uint64(3) {
		for who := uint64(1); who <= 3; who++ {
			if got := j.Enter(who, turn*3+who); !got.HandOver {
				t.Errorf("turn %d of %d is no hand-over", turn, who)
			}
			j.Leave(who)
		}
	}
	if got := j.Enter(3, 0); got.HandOver {
		t.Error("the same one once more counts as a hand-over")
	}
	if err := j.Err(); err != nil {
		t.Error(err)
	}
}

func TestTwoHoldersAreFound(t *testing.T) {
	t.Parallel()
	j := New()
	j.Enter(1, 0)
	j.Enter(2, 0)
	if j.Err() == nil {
		t.Error("two were inside, and the checker saw nothing")
	}
}

func TestTokenThatDoesNotGrowIsFound(t *testing.T) {
	t.Parallel()
	for _, second := range []uint64{4, 5} {
		j := New()
		for _, token := range []uint64{5, second} {
			j.Enter(1, token)
			j.Leave(1)
		}
		if j.Err() == nil {
			t.Errorf("token %d came after 5, and the checker saw nothing", second)
		}
	}
}

func TestCheckersOfOneFileSeeTheSame(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "checker")
	var checkers []*Checker
	for range 2 {
		j, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		checkers = append(checkers, j)
	}
	checkers[0].Enter(1, 0)
	checkers[1].Enter(2, 0)
	for i, j := range checkers {
		if j.Err() == nil {
			t.Errorf("checker %d has not seen that two are inside", i)
		}
	}
}
