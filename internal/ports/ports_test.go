package ports

import "testing"

func TestReservedPortsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 100 {
		port, err := Reserve()
		if err != nil {
			t.Fatal(err)
		}
		defer Release(port)
		if seen[port] {
			t.Fatalf("port %d was given out twice", port)
		}
		seen[port] = true
	}
}
