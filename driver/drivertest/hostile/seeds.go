package hostile

import (
	"flag"
	"math/rand/v2"
	"testing"
)

// Seeds returns a function that adds seeds to f. Each seed costs dozens of requests to servers, so
// an ordinary test run tries a third of them, always the same ones. A fuzzing run starts with all.
func Seeds(f *testing.F) (add func(values ...any)) {
	fuzzes := flag.Lookup("test.fuzz").Value.String() != ""
	dice := rand.New(rand.NewPCG(1, 1))
	return func(values ...any) {
		if dice.IntN(3) == 0 || fuzzes {
			f.Add(values...)
		}
	}
}
