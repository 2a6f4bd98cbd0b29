package zookeeper

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold/driver"
)

// kinds are the nodes below the prefix.
var kinds = map[driver.Kind]string{driver.Lock: "lock", driver.Semaphore: "semaphore"}

// base is the node that all names of a kind are below.
func (e *Engine) base(k driver.Kind) string { return e.prefix + "/" + kinds[k] }

// parent is the node of a name, which its places are below.
func (e *Engine) parent(k driver.Key) string { return e.base(k.Kind) + "/" + escape(k.Name) }

// escape makes the name of a node, which people can read, from that of a lock. What nodes may not be called, and the percent sign, is
// written as %XX for each byte, as in a URL. See PathUtils.validatePath of the server, which looks at UTF-16.
func escape(name string) string {
	if name == "." || name == ".." {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	clean := true
	for _, r := range name {
		if !allowed(r) {
			clean = false
			break
		}
	}
	if clean {
		return name
	}
	var s strings.Builder
	for i, r := range name {
		if allowed(r) {
			s.WriteRune(r)
			continue
		}
		_, size := utf8.DecodeRuneInString(name[i:])
		for _, b := range []byte(name[i : i+size]) {
			fmt.Fprintf(&s, "%%%02X", b)
		}
	}
	return s.String()
}

func allowed(r rune) bool {
	switch {
	case r < 0x20, r == '/', r == '%', r >= 0x7f && r <= 0x9f, r >= 0xd800 && r <= 0xf8ff, r >= 0xfff0:
		return false
	}
	return true
}

// unescape is the way back. It reports false for what escape never makes.
func unescape(node string) (name string, ok bool) {
	if !strings.Contains(node, "%") {
		return node, true
	}
	var s strings.Builder
	for i := 0; i < len(node); i++ {
		if node[i] != '%' {
			s.WriteByte(node[i])
			continue
		}
		if i+2 >= len(node) {
			return "", false
		}
		b, err := strconv.ParseUint(node[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		s.WriteByte(byte(b))
		i += 2
	}
	name = s.String()
	return name, utf8.ValidString(name) && escape(name) == node
}
