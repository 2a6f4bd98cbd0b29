//go:build unix

package cli

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

// redaction replaces what may be a password in whatever is said about words that were given: a URL may stand where something else belongs, and is quoted in the message
// that says so.
type redaction struct {
	mu     sync.Mutex // an engine may be opened again while others speak
	always []string   // parts of words that are URLs
	wrong  []string   // parts of words that look like "user:password@host", which names may do, too
}

// learn takes in words that were given.
func (r *redaction) learn(words ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, word := range words {
		r.take(word)
	}
	for _, parts := range []*[]string{&r.always, &r.wrong} {
		// The longest come first, since one may be a part of another.
		slices.SortFunc(*parts, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
		*parts = slices.Compact(*parts)
	}
}

func (r *redaction) take(word string) {
	if flag, value, found := strings.Cut(word, "="); found && strings.HasPrefix(flag, "-") {
		word = value
	}
	rest, is := behindScheme(word)
	i := strings.LastIndex(rest, "@")
	switch file := strings.HasPrefix(word, "sqlite:") && !strings.Contains(rest[:max(i, 0)], ":"); {
	case i <= 0 || file: // there are folders with an @
	case is:
		r.always = append(r.always, rest[:i+1])
	default:
		r.wrong = append(r.wrong, rest[:i+1])
	}
	_, query, _ := strings.Cut(rest, "?")
	for part := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(part, "="); value != "" && is && engine.IsSecret(name) {
			r.always = append(r.always, part)
		}
	}
}

var anyScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// behindScheme returns what stands behind the scheme of a URL, and whether there is one.
func behindScheme(word string) (rest string, is bool) {
	if scheme := anyScheme.FindString(word); scheme != "" {
		return word[len(scheme):], true
	}
	scheme, rest, found := strings.Cut(word, ":")
	if found && engine.IsScheme(strings.ToLower(scheme)) {
		return rest, true
	}
	return word, false
}

// hide returns a message, on one line, without what may be a password.
func (r *redaction) hide(text string, wrongWord bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text = oneLine(text)
	for _, secret := range r.always {
		text = blank(text, secret)
	}
	if wrongWord {
		for _, secret := range r.wrong {
			text = blank(text, secret)
		}
	}
	return text
}

// blank replaces a secret in all the ways in which a message may spell it.
func blank(text, secret string) string {
	shown := "***@"
	if name, _, found := strings.Cut(secret, "="); found && !strings.HasSuffix(secret, "@") {
		shown = name + "=***"
	}
	spelled := []string{secret}
	if decoded, err := url.PathUnescape(secret); err == nil {
		spelled = append(spelled, decoded)
	}
	for _, s := range spelled {
		if valid := strings.ToValidUTF8(s, "\ufffd"); valid != s { // as texts of holders are
			spelled = append(spelled, valid)
		}
	}
	for _, s := range spelled {
		quoted := strconv.Quote(s)
		for _, one := range []string{s, oneLine(s), quoted[1 : len(quoted)-1], oneLine(quoted[1 : len(quoted)-1])} {
			text = strings.ReplaceAll(text, one, shown)
		}
	}
	return text
}

// plainName refuses the name of a lock that is the URL of an engine with a password in it: a flag was forgotten, and the password would become known to all who list names.
func plainName(name string) error {
	rest, is := behindScheme(name)
	if scheme, _, _ := strings.Cut(name, ":"); is && strings.Contains(rest, "@") && engine.IsScheme(strings.ToLower(scheme)) {
		return exit.Errorf(exit.Usage, "NAME is the URL of an engine, with a user or a password: say --engine before it, or better put it into LEASEHOLD_ENGINE, since others can see the words of a command line")
	}
	return nil
}
