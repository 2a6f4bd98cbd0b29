package busy

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

func TestLoopsEndWhenTheyAreStopped(t *testing.T) {
	t.Parallel()
	l, err := Start(2)
	if err != nil {
		t.Fatal(err)
	}
	all := l.all
	for _, one := range all {
		if one.process.ProcessState != nil {
			t.Errorf("a loop has ended by itself: %v", one.process.ProcessState)
		}
	}
	if err := l.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if s := one.process.ProcessState; s == nil || s.String() != "signal: killed" {
			t.Errorf("a loop ended with %v, want by the signal of Stop", s)
		}
	}
}
