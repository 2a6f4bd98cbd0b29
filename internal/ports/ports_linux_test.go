package ports

import "testing"

// A port stays reserved while its server is down, even for other processes.
func TestReservedPortsAreClaimed(t *testing.T) {
	t.Parallel()
	port, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	if c, err := claim(port); err == nil {
		_ = c.Close()
		t.Errorf("port %d could be claimed twice", port)
	}
	Release(port)
	c, err := claim(port)
	if err != nil {
		t.Fatalf("port %d is still claimed after its release: %v", port, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
