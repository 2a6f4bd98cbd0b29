//go:build unix

package cli

import (
	"errors"
	"strings"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// position is a flag's value: where a listing goes on, as KIND/NAME.
type position struct{ kind, name string }

func positionOf(s admin.Status) position { return position{s.Kind.String(), s.Name} }

func (p position) key() driver.Key { return driver.Key{Kind: kinds[p.kind], Name: p.name} }

// Set implements pflag.Value.
func (p *position) Set(text string) error {
	kind, name, ok := strings.Cut(text, "/")
	if _, known := kinds[kind]; !ok || !known {
		return errors.New(mustBe + "KIND/NAME, as in lock/order:1001")
	}
	*p = position{kind, name}
	return nil
}

func (p position) String() string {
	if p.kind == "" {
		return ""
	}
	return p.kind + "/" + p.name
}

// Type implements pflag.Value.
func (position) Type() string { return "KIND/NAME" }

// shellQuote quotes a word for a shell. It writes control characters as escapes in $'...', which bash, zsh and ksh
// support.
func shellQuote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/:._-+@%,", r)
	}
	switch {
	case word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }):
		return word
	case oneLine(word) == word:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return "$'" + oneLine(strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(word)) + "'"
}
