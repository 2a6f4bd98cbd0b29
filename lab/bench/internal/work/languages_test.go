package work

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

func TestTurnsOfLanguagesAreCountedInTheWindowAlone(t *testing.T) {
	t.Parallel()
	from := time.Now()
	turn := func(at, waited time.Duration) javaside.Turn {
		return javaside.Turn{Granted: from.Add(at), Waited: waited}
	}
	const ms = time.Millisecond
	s := sampleOfCrowd([]outcome{
		{java: true, turns: []javaside.Turn{turn(-ms, 90*ms), turn(0, 10*ms), turn(999*ms, 30*ms)}, finished: true},
		{turns: []javaside.Turn{turn(ms, 5*ms), turn(time.Second, 90*ms)}},
	}, from, usage{time: time.Second, server: 3 * ms, commands: 12})
	for name, want := range map[string]float64{
		handOvers: 3, turnServerTime: 1000, serverCommands: 4, languages: 0.5, "most turns": 2, "fewest turns": 1,
		WaitP50: 10, WaitLongest: 30, "wait p99 in Java": 30, "wait p99 in Go": 5, leftWaiting: 1,
	} {
		for _, m := range s {
			if m.Name == name && m.Value != want {
				t.Errorf("%s: %v, want %v", name, m.Value, want)
			}
		}
	}
}
