package work

import "testing"

func TestAClientMostlyWantsItsOwnNames(t *testing.T) {
	t.Parallel()
	const draws, names, client = 100_000, 10, 2
	s := &stickyBench{env: Env{Plan: Plan{Names: names}}, sessions: make(sessions, 4)}
	of := make([]int, 4)
	for range draws {
		of[s.want(client)/names]++
	}
	if away := draws - of[client]; away < draws/awayOneIn/2 || away > draws/awayOneIn*2 {
		t.Errorf("%d of %d were names of other clients, want one in %d", away, draws, awayOneIn)
	}
	for other, n := range of {
		if n == 0 {
			t.Errorf("nothing of client %d", other)
		}
	}
}
