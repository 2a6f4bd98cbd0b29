package redissonwire

import "testing"

// Connections to two servers of a Cluster may have the same address at the client's end. Each command is that of the
// client that is connected to its server, and the recorder's own are not recorded.
func TestRecorderTellsConnectionsWithOneAddressApart(t *testing.T) {
	t.Parallel()
	first := &node{own: map[string]bool{}, names: map[string]string{}, last: -1}
	second := &node{own: map[string]bool{}, names: map[string]string{}, last: -1}
	own := &node{own: map[string]bool{"127.0.0.1:40000": true}, names: map[string]string{}, last: -1}
	r := &Recorder{seen: map[string]int{}}
	for _, line := range []struct {
		at   *node
		text string
	}{
		{first, `1700000000.000001 [0 127.0.0.1:40000] "CLIENT" "SETNAME" "a"`},
		{second, `1700000000.000002 [0 127.0.0.1:40000] "HELLO" "3" "SETNAME" "b"`},
		{first, `1700000000.000003 [0 127.0.0.1:40000] "SET" "x" "1"`},
		{second, `1700000000.000004 [0 127.0.0.1:40000] "SET" "y" "1"`},
		{own, `1700000000.000005 [0 127.0.0.1:40000] "SET" "z" "1"`},
	} {
		if err := r.sawCommand(line.at, line.text); err != nil {
			t.Fatal(err)
		}
	}
	var clients []string
	for _, b := range r.blocks {
		clients = append(clients, b.client)
	}
	if len(clients) != 2 || clients[0] != "a" || clients[1] != "b" {
		t.Errorf("the commands are of %q, want those of a and b", clients)
	}
}
