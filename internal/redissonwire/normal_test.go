package redissonwire

import (
	"testing"
	"time"
)

func TestWhatDiffersFromRunToRunHasAFixedForm(t *testing.T) {
	t.Parallel()
	const id = "5f0c1f0e-1111-4222-8333-444455556666"
	at := time.UnixMilli(1795212423033)
	n := newNormalizer()
	n.labels = map[string]string{id + ":17": "a:t1"}
	for s, want := range map[string]string{
		id + ":17":        "a:t1",
		id + ":17:write":  "a:t1:write",
		id:                "a",
		id + ":18":        "a:?",
		"channel:" + id:   "channel:a",
		"0" + id[1:]:      "<unknown>",
		"30000":           "30000",
		"29993":           "~30000",
		"59990":           "~60000",
		"922337203685477": "922337203685477",
		"7":               "7",
		"-1":              "-1",
		"1795212423030":   "now",
		"1795212453020":   "now+30000",
		"1795212393030":   "now-30000",
		"order:1001":      "order:1001",
		"redisson_unlock_latch:{x}:0102333435363738393031323334ff00": "redisson_unlock_latch:{x}:<request>",
	} {
		if got := n.text(s, at); got != want {
			t.Errorf("%q becomes %s, want %s", s, got, want)
		}
	}
	raw := "\x01\x02\x0345678901234\xfe\xff"
	for _, c := range [][2]string{{raw, "<permit1>"}, {"ffffffffffffffffffffffffffffffff", "<permit2>"},
		{"010203343536373839303132333" + "4feff", "<permit1>"}} {
		if got := n.text(c[0], at); got != c[1] {
			t.Errorf("%q becomes %s, want %s", c[0], got, c[1])
		}
	}
}

func TestTimesMayDifferALittle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"k x hash ttl ~30000 {a:t1: 1}", "k x hash ttl ~29000 {a:t1: 1}", true},
		{"k x hash ttl ~30000 {a:t1: 1}", "k x hash ttl ~20000 {a:t1: 1}", false},
		{"k x hash ttl ~30000 {a:t1: 1}", "k x hash ttl ~30000 {a:t1: 2}", false},
		{"w pexpire x ~60000", "w pexpire x 60000", true},
		{"w pexpire x 10000", "w pexpire x 20000", false},
		{"w zadd z now+330000 a:t1", "w zadd z now+329000 a:t1", true},
		{"w zadd z now+330000 a:t1", "w zadd z ~330000 a:t1", false},
		{"c a EVAL [x] [now]", "c a EVAL [x] [now-1000]", true},
		{"k z zset {a:t1: now+330000}", "k z zset {a:t1: now+329000}", true},
		{"= true", "= false", false},
	} {
		if got := sameLine(c.a, c.b); got != c.same {
			t.Errorf("%q and %q are the same: %v, want %v", c.a, c.b, got, c.same)
		}
	}
}

func TestLinesOfMONITORAreRead(t *testing.T) {
	t.Parallel()
	c, err := parseCommand(`1795212423.033123 [0 127.0.0.1:5000] "SET" "a \"b\"\\" "\x00\xff\n"`)
	if err != nil {
		t.Fatal(err)
	}
	if c.source != "127.0.0.1:5000" || len(c.args) != 3 || c.args[1] != `a "b"\` || c.args[2] != "\x00\xff\n" ||
		c.at.UnixMilli() != 1795212423033 {
		t.Errorf("read %+v", c)
	}
	c, err = parseCommand(`1795212423.033123 [0 lua] "exists" "x"`)
	if err != nil || !c.inScript() {
		t.Errorf("read %+v: %v", c, err)
	}
	for _, line := range []string{"", "OK", `1.5 [0 lua] `, `1.5 [0 lua] "x`, `1.5 [0 lua] x`, `1.5 [0 lua] "\q"`} {
		if c, err := parseCommand(line); err == nil {
			t.Errorf("%q is read as %+v", line, c)
		}
	}
}
