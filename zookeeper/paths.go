package zookeeper

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold/driver"
)

// kindNodes are the names of the nodes below the prefix.
var kindNodes = map[driver.Kind]string{driver.Lock: "lock", driver.Semaphore: "semaphore"}

// kindNode returns the path of the node that all names of a kind are below.
func (e *Engine) kindNode(k driver.Kind) string { return e.prefix + "/" + kindNodes[k] }

// nameNode returns the path of the node of a name, which its entries are below.
func (e *Engine) nameNode(k driver.Key) string { return e.kindNode(k.Kind) + "/" + escape(k.Name) }

// escape returns the name of the node for the name of a lock, readable for people. Characters that node names may not
// have, and the percent sign, become %XX for each byte, as in a URL. See PathUtils.validatePath of the server, which
// works on UTF-16.
func escape(name string) string {
	if name == "." || name == ".." {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	clean := true
	for _, r := range name {
		if !isAllowedRune(r) {
			clean = false
			break
		}
	}
	if clean {
		return name
	}
	var s strings.Builder
	for i, r := range name {
		if isAllowedRune(r) {
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

func isAllowedRune(r rune) bool {
	switch {
	case r < 0x20, r == '/', r == '%', r >= 0x7f && r <= 0x9f, r >= 0xd800 && r <= 0xf8ff, r >= 0xfff0:
		return false
	}
	return true
}

// unescape reverses escape. It reports false for a name that escape never returns.
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
