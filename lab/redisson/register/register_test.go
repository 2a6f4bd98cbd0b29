package register_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/lab/redisson/register"
)

func TestOverlapsAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		holds []register.Hold
		found string
	}{
		{"one holder", []register.Hold{{Who: "a", Mode: register.Exclusive}}, ""},
		{"two holders", []register.Hold{{Who: "a", Mode: register.Exclusive}, {Who: "b", Mode: register.Exclusive}},
			"x: b (exclusive) has entered while a (exclusive) holds it"},
		{"two readers", []register.Hold{{Who: "a", Mode: register.Shared}, {Who: "b", Mode: register.Shared}}, ""},
		{"reader and writer", []register.Hold{{Who: "a", Mode: register.Shared}, {Who: "b", Mode: register.Exclusive}},
			"x: b (exclusive) has entered while a (shared) holds it"},
		{"writer and reader", []register.Hold{{Who: "a", Mode: register.Exclusive}, {Who: "b", Mode: register.Shared}},
			"x: b (shared) has entered while a (exclusive) holds it"},
		{"permits", []register.Hold{{Who: "a", Mode: register.Permit, Weight: 2},
			{Who: "b", Mode: register.Permit, Weight: 1}}, ""},
		{"too many permits", []register.Hold{{Who: "a", Mode: register.Permit, Weight: 2},
			{Who: "b", Mode: register.Permit, Weight: 2}}, "x: b has entered, and 4 permits of 3 are held"},
		{"tokens", []register.Hold{{Who: "a", Mode: register.Shared, Token: 7},
			{Who: "b", Mode: register.Shared, Token: 7}}, "x: b has entered with token 7, after token 7"},
	} {
		r := register.New()
		r.SetCapacity("x", 3)
		for _, h := range c.holds {
			h.Name = "x"
			if err := r.Enter(h); err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
		}
		if found := strings.Join(r.Overlaps(), "; "); found != c.found {
			t.Errorf("%s: found %q, want %q", c.what, found, c.found)
		}
	}
}

func TestOtherLanguagesTellItOverTCP(t *testing.T) {
	t.Parallel()
	r := register.New()
	conn, err := net.Dial("tcp", r.Listen(t).Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewScanner(conn)
	for _, c := range []struct{ line, answer string }{
		{"enter x a exclusive 1 7", "ok"},
		{"enter x a exclusive 1 8", "register: a holds x already"},
		{"leave x a", "ok"},
		{"leave x a", "register: a does not hold x"},
		{"enter x b exclusive 1 -", "ok"},
		{"enter x b", `register: a line of an unknown form: "enter x b"`},
	} {
		fmt.Fprintln(conn, c.line)
		if !answers.Scan() || answers.Text() != c.answer {
			t.Errorf("%q is answered with %q, want %q", c.line, answers.Text(), c.answer)
		}
	}
	if holds := r.Holds("x"); holds["a"] != 1 || holds["b"] != 1 {
		t.Errorf("holds: %v", holds)
	}
	r.Gone(func(who string) bool { return slices.Contains([]string{"b"}, who) })
	if err := r.Leave("x", "b"); err == nil {
		t.Error("b left although it was gone")
	}
}
