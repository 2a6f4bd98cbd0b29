package fence_test

import (
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/fence"
)

// put sends a write with a token for an id through a gate.
func put(gate *fence.Gate, id, token string, opts ...fence.HandlerOption) *http.Response {
	r := request("PUT", fence.HeaderToken, token)
	r.URL.RawQuery = url.Values{"id": {id}}.Encode()
	return answer(gate.Handler(nameOf, echo, opts...), r)
}

// All names of one resource have one mark.
func TestNamesThatMayStandForTheSameAreRefused(t *testing.T) {
	t.Parallel()
	gate := fence.NewGate(new(fence.Memory))
	for class, ids := range map[string][]string{
		"parts of a path": {"../1", "..", ".", "a/../1", "a/./1", `..\1`, "1.", "1../2", "1..."},
		"escapes":         {"%2e%2e%2f1", "%2E1", "a%2fb", "a%2Fb", "%u002e", "100%"},
		"slashes":         {"/1", "1/", "a//1", "/", `a\1`, "a/:1", "", ":1"},
		"parameters":      {"1;a=b", "1;", "1?a", "1#a", ";1"},
		"blanks":          {" 1", "1 ", "a b", "1\t", "\u00a01", "1\u3000", "a\u2009b", "\u16801"},
		"control letters": {"a\x001", "a\n1", "\u0085", "\x7f1", "1\x1b"},
		"invisible letters": {
			"1\u200b", "\ufeff1", "a\u00adb", "\u202e1", "1\u2060", "a\u034fb", "1\ufe0f", "\u31641", "1\U000e0041",
		},
		"other forms of a text": {
			"gro\u0308ße", "größe", "\u212b", "\u212a", "ﬁ", "１", "\u1112\u1161\u11ab", "한", "．．／1", "\u037e",
		},
		"no text": {"\xff", "a\xc0\xaeb"},
	} {
		for _, id := range ids {
			if got := put(gate, id, "42").StatusCode; got != 400 {
				t.Errorf("%s, %q: %d, want 400", class, id, got)
			}
			if class == "no text" || strings.Contains(id, "\x00") {
				continue // no lock has such a name
			}
			if got := put(gate, id, "42", fence.AnyName()).StatusCode; got != 200 {
				t.Errorf("any name, %q: %d, want 200", id, got)
			}
		}
	}
	for _, id := range []string{
		"1", "a.b", "..a", "a/b", "a...b", ".well-known/a", "a:b/c", "a+b=", "me@example.com", "a,b", "a|b", "~a", "A",
		"(1)*!$&'\"<>{}[]^`_-",
	} {
		if got := put(gate, id, "42").StatusCode; got != 200 {
			t.Errorf("%q: %d, want 200", id, got)
		}
	}
}

// The error for a refused name says why it is refused, and what to do instead.
func TestRefusedNamesSayWhy(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"1/": "empty part", "größe": "fence.Normalize", "1;a": "; ? #"} {
		text, err := io.ReadAll(put(fence.NewGate(new(fence.Memory)), id, "42").Body)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%q: %s, want %q in it", id, text, want)
		}
	}
}

// If upper and lower case are one for the service, they have one mark.
func TestCaseIsFolded(t *testing.T) {
	t.Parallel()
	gate := fence.NewGate(new(fence.Memory))
	upper := request("PUT", fence.HeaderToken, "50", fence.HeaderName, "Order:A")
	upper.URL.RawQuery = "id=A"
	lower := request("PUT", fence.HeaderToken, "49", fence.HeaderName, "order:a")
	lower.URL.RawQuery = "id=a"
	folding := gate.Handler(nameOf, echo, fence.FoldCase())
	w := answer(folding, upper)
	if text, _ := io.ReadAll(w.Body); w.StatusCode != 200 || string(text) != `["order:a",50,true]`+"\n" {
		t.Errorf("%d %s", w.StatusCode, text)
	}
	if got := answer(folding, lower).StatusCode; got != 412 {
		t.Errorf("the other spelling has a mark of its own: %d", got)
	}
}

// If a service accepts other letters, all forms of a text have one mark. Names that may stand for another name are
// refused as before.
func TestTextsAreNormalized(t *testing.T) {
	t.Parallel()
	gate := fence.NewGate(new(fence.Memory))
	nfkc := strings.NewReplacer("o\u0308", "ö", "．", ".").Replace // as far as this test needs it
	normalize := fence.Normalize(nfkc)
	composed, apart := "größe", "gro\u0308ße"
	r := request("PUT", fence.HeaderToken, "50", fence.HeaderName, url.PathEscape("order:"+apart))
	r.URL.RawQuery = url.Values{"id": {composed}}.Encode()
	w := answer(gate.Handler(nameOf, echo, normalize), r)
	text, err := io.ReadAll(w.Body)
	if err != nil || w.StatusCode != 200 || string(text) != `["order:größe",50,true]`+"\n" {
		t.Errorf("%d %s, %v", w.StatusCode, text, err)
	}
	if got := put(gate, apart, "49", normalize).StatusCode; got != 412 {
		t.Errorf("the other form has a mark of its own: %d", got)
	}
	if got := put(gate, "GRÖSSE", "50", normalize, fence.FoldCase()).StatusCode; got != 200 {
		t.Errorf("%d", got)
	}
	for _, twins := range [][2]string{{"straſe", "strase"}, {"οδος", "ΟΔΟΣ"}, {"µ", "Μ"}, {"K", "k"}} {
		folding := fence.NewGate(new(fence.Memory))
		put(folding, twins[0], "50", normalize, fence.FoldCase())
		if got := put(folding, twins[1], "49", normalize, fence.FoldCase()).StatusCode; got != 412 {
			t.Errorf("%s has a mark of its own beside %s: %d", twins[1], twins[0], got)
		}
	}
	for _, id := range []string{"．．", "größe\u200b", "größe\u00a0", "größe/", "größe%41", "\xff", "größe\u2800"} {
		if got := put(gate, id, "50", normalize).StatusCode; got != 400 {
			t.Errorf("%q: %d, want 400", id, got)
		}
	}
}

// Whatever a service does to clean a name that has passed, it is the same name afterwards.
func FuzzNamesBehindAGate(f *testing.F) {
	for _, s := range []string{
		"1", "a/b", "a:b", "../1", "1.", " 1", "1;a", "%2e", "a//b", "gro\u0308ße", "\\", "a\x00", "1\u200b",
	} {
		f.Add(s)
	}
	gate := fence.NewGate(new(fence.Memory))
	f.Fuzz(func(t *testing.T, name string) {
		r := request("PUT", fence.HeaderToken, "1")
		h := gate.Handler(func(*http.Request) string { return name }, echo)
		switch got := answer(h, r).StatusCode; got {
		case 400:
			return
		case 200:
		default:
			t.Fatalf("%q: %d", name, got)
		}
		decoded, err := url.PathUnescape(name)
		cut, _, _ := strings.Cut(name, ";")
		for what, cleaned := range map[string]string{
			"cleaned":           strings.TrimPrefix(path.Clean("/"+name), "/"),
			"decoded":           decoded,
			"without parameter": cut,
			"trimmed":           strings.Join(strings.Fields(name), " "),
			"without dots":      strings.TrimRight(name, "."),
			"made valid":        strings.ToValidUTF8(name, ""),
			"visible":           strings.Map(onlyVisible, name),
			"slashes":           strings.Trim(name, "/"),
		} {
			if err != nil || cleaned != name {
				t.Errorf("%q has passed, and is %q when it is %s (%v)", name, cleaned, what, err)
			}
		}
	})
}

// onlyVisible drops everything but visible letters of ASCII.
func onlyVisible(r rune) rune {
	if r > ' ' && r < 0x7f {
		return r
	}
	return -1
}
