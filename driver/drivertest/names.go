package drivertest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

var names = []check{
	{"NamesAreApart", namesAreApart},
	{"LongestName", longestName},
	{"ShortestName", shortestName},
	{"HolderTexts", holderTexts},
}

// awkward lists names that an engine might misinterpret, or confuse with each other.
var awkward = []string{
	"a", "A", "á", "a\u0301", "ａ", "ß", "ss", "SS", "İ", "i",
	" ", "  ", "a ", " a", "\t", "\n", "a\nb", "a\r\nb", "\r",
	"{", "}", "{}", "{a}", "{a}b", "{a}:queue", "{{a}}", "}a{", "a{b}c{d}",
	":", "a:b", "a:b:c", "::", "/", "a/", "/a", "a/b", "a//b", "..", "../a", ".", "a.b",
	"*", "?", "[a]", "[^a]", "%", "_", "a%", "a_", "\\", "\\n", "%00", "%2F",
	"'", "''", "\"", "`", "a'; DROP TABLE locks; --", "$1", "${a}", "$(a)", "#", "a b c",
	"0", "00", "1", "1e0", "-1", "NULL", "null", "true", "nil",
	"\u00a0", "\u200b", "\ufeff", "\ufffd", "\u202e", "\x01", "\x7f",
	"日本語", "👩‍🚀", "🔒", "عربى", "lock", "lock:a", "token", "queue",
}

func namesAreApart(e *env) {
	a, b := e.open(), e.open()
	var all []driver.Request
	for _, n := range awkward {
		if r := e.lock(n); e.refuses(r.Name) {
			if _, err := a.Take(e.ctx, r); !errors.Is(err, driver.ErrInvalid) || !driver.IsPermanent(err) {
				e.Errorf("Take of %q: %v, want an ErrInvalid", r.Name, err)
			}
			continue
		}
		all = append(all, e.lock(n))
		if e.can.Semaphores {
			all = append(all, e.permits(n, 1, 1))
		}
	}
	for _, r := range all {
		e.resetDeadline()
		if _, err := a.Take(e.ctx, r); err != nil {
			e.Errorf("Take of %s %q, while others are held: %v", r.Kind, r.Name, err)
		}
	}
	for _, r := range all {
		e.resetDeadline()
		e.status(b, r.Key)
		other := r
		other.Owner = "another-" + r.Owner
		if _, err := b.Take(e.ctx, other); !driver.IsNo(err) {
			e.Errorf("Take of the held %s %q: %v, want ErrHeld", r.Kind, r.Name, err)
		}
	}
	for i, r := range all {
		e.resetDeadline()
		if err := e.renew(a, r, e.long); err != nil {
			e.Errorf("Renew of %s %q: %v", r.Kind, r.Name, err)
		}
		if err := a.Release(e.ctx, driver.Release{Hold: holdOf(r)}); err != nil {
			e.Errorf("Release of %s %q: %v", r.Kind, r.Name, err)
		}
		left := len(all) - i - 1
		if left%48 != 0 { // a listing of this many is slow on some engines
			continue
		}
		e.resetDeadline()
		if held := len(e.list(b, driver.Query{})); held != left {
			e.Fatalf("%d are held after the Release of %s %q, want %d", held, r.Kind, r.Name, left)
		}
	}
}

func longestName(e *env) {
	a, b := e.open(), e.open()
	// The two names differ in the last byte alone.
	fill := "ü{ "
	if e.refuses(fill) {
		fill = "ü[ "
	}
	stem := strings.Repeat(fill, 256)[:maxName-len(e.prefix)-1]
	for _, end := range []string{"1", "2"} {
		r := e.lock(stem + end)
		if len(r.Name) != maxName {
			e.Fatalf("a name of %d bytes, want %d", len(r.Name), maxName)
		}
		e.take(a, r)
		w := e.join(b, e.lock(stem+end))
		if st := e.status(b, r.Key); len(st.Holders) != 1 {
			e.Errorf("listed %+v, want one holder", st)
		}
		e.release(a, r)
		w.mustBeGranted()
	}
}

// maxName is the length in bytes of the longest name that the core accepts.
const maxName = 1024

func shortestName(e *env) {
	a := e.open()
	// The name has no prefix, so another test may have left it held on a shared server.
	r := e.lock("")
	r.Name = "~"
	r.TTL = e.short
	_, err := a.Take(e.ctx, r)
	if err != nil && !driver.IsNo(err) {
		e.Errorf("Take of %q: %v", r.Name, err)
	}
	if err == nil {
		e.release(a, r)
	}
}

func holderTexts(e *env) {
	a := e.open()
	for i, text := range append(awkward, "", strings.Repeat("x", 512)) {
		r := e.lock(fmt.Sprint(i))
		r.Holder = text
		e.take(a, r)
		if st := e.status(a, r.Key); len(st.Holders) != 1 || st.Holders[0].Holder != text {
			e.Errorf("listed %+v, want the holder %q", st.Holders, text)
		}
	}
}
