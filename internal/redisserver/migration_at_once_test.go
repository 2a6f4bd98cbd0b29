package redisserver

import "testing"

func TestServersThatMoveSlotsAtOnce(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=1": false,
		"Redis server v=9.0.0 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1":  false,
		"Valkey server v=8.1.8 sha=00000000:1 malloc=libc bits=64 build=1":           false,
		"Valkey server v=9.1.2 sha=00000000:0 malloc=jemalloc-5.3.1 bits=64 build=1": true,
		"Valkey server v=10.0.0 sha=00000000:0 malloc=libc bits=64 build=1":          true,
		"": false,
	} {
		if got := movesAtOnce(version); got != want {
			t.Errorf("%q moves slots at once: %v, want %v", version, got, want)
		}
	}
}
