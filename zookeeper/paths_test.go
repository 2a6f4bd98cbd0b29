package zookeeper

import (
	"strings"
	"testing"
	"unicode/utf16"
)

// isInvalid reports whether the server refuses the name of a node: it does what PathUtils.validatePath does, which
// works on UTF-16.
func isInvalid(node string) bool {
	if node == "" || node == "." || node == ".." || strings.Contains(node, "/") {
		return true
	}
	for _, c := range utf16.Encode([]rune(node)) {
		if c <= 0x1f || c >= 0x7f && c <= 0x9f || c >= 0xd800 && c <= 0xf8ff || c >= 0xfff0 {
			return true
		}
	}
	return false
}

func FuzzNamesOfNodes(f *testing.F) {
	for _, name := range []string{
		"a", ".", "..", "...", "a/b", "%", "%2F", "%2", "zookeeper", " ", "\x01", "\x7f",
		"é", "日本語", "👩‍🚀", "\uf8ff", "\ufffd", "\u0080", strings.Repeat("ü/", 400),
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		name = strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", ""), "")
		if name == "" {
			return
		}
		node := escape(name)
		if isInvalid(node) {
			t.Errorf("%q becomes %q, which the server does not allow", name, node)
		}
		if back, ok := unescape(node); !ok || back != name {
			t.Errorf("%q becomes %q and then %q, %v", name, node, back, ok)
		}
	})
}

func TestNamesStayReadable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"order:1001": "order:1001", "jobs/é 7": "jobs%2Fé 7", "..": "%2E%2E", "100%": "100%25",
		"🔒": "%F0%9F%94%92",
	} {
		if got := escape(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

// Nodes that no engine has created are not listed as names.
func TestForeignNodesAreNoNames(t *testing.T) {
	t.Parallel()
	for _, node := range []string{"%", "%2", "%zz", "%41", "%FF", "%2f"} {
		if name, ok := unescape(node); ok {
			t.Errorf("%q is taken for the name %q", node, name)
		}
	}
}
