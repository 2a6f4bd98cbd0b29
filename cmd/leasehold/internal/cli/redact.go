//go:build unix

package cli

import (
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

// redaction hides what may be a password in messages. A URL may have been given where something else belongs, and the
// message may quote it. Two parts of such a word are hidden wherever they occur: what leads up to an @, and what
// follows "password=".
type redaction struct {
	mu    sync.Mutex // an engine may be opened again while other goroutines print
	words []secretWord
}

// secretWord is a word that may contain a password.
type secretWord struct {
	text string

	// Computed when first needed: most runs print no message.
	variants []string
	pairs    [][2]string // "password=", and what follows
	certain  bool        // it certainly has a password, and is no name
}

func (w *secretWord) prepare() {
	if w.variants != nil {
		return
	}
	w.variants, w.certain = spellingVariants(w.text), engine.HoldsPassword(w.text)
	for _, s := range w.variants {
		w.pairs = append(w.pairs, pairsIn(s)...)
	}
}

// add adds words that were given on the command line or in the environment.
func (r *redaction) add(words ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, word := range words {
		if strings.Contains(word, "@") || engine.SecretPair.MatchString(word) {
			r.words = append(r.words, secretWord{text: word})
		}
	}
}

// redact returns a message on one line, without what may be a password. wrongWord says that the message is about an
// invalid word. Otherwise "mail:anna@example.org" is likely to be a name, and is shown.
func (r *redaction) redact(text string, wrongWord bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text = oneLine(text)
	hidden := make([]bool, len(text))
	for i := range r.words {
		word := &r.words[i]
		word.prepare()
		for _, pair := range word.pairs {
			hideValue(hidden, text, pair[0], pair[1])
		}
		for _, spelled := range word.variants {
			if wrongWord || word.certain {
				hideUsers(hidden, text, spelled)
			}
		}
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !hidden[i]:
			b.WriteByte(text[i])
		case i == 0 || !hidden[i-1]:
			b.WriteString("***")
		}
	}
	return b.String()
}

// pairsIn returns each "password=" in a word with what follows: the whole rest, and also its first part, in case the
// message quotes only that.
func pairsIn(word string) (all [][2]string) {
	for at := 0; ; {
		pair := engine.SecretPair.FindStringIndex(word[at:])
		if pair == nil {
			return all
		}
		name, value := strings.TrimLeft(word[at+pair[0]:at+pair[1]], "?&"), word[at+pair[1]:]
		part := value
		if end := strings.IndexAny(value, "& ;"); end >= 0 {
			part = value[:end]
		}
		if at == 0 {
			all = append(all, [2]string{name, value})
		}
		all = append(all, [2]string{name, part})
		at += pair[1] + len(part)
	}
}

func hideValue(hidden []bool, text, name, value string) {
	for from := 0; value != ""; {
		i := strings.Index(text[from:], name+value)
		if i < 0 {
			return
		}
		from += i + len(name) + len(value)
		markHidden(hidden[from-len(value) : from])
	}
}

func markHidden(hidden []bool) {
	for i := range hidden {
		hidden[i] = true
	}
}

// separators are the letters between the parts of a word.
const separators = ":/?#&=@, "

// hideUsers hides, before each @ in a message, as many letters as match those before an @ of the word. So it does not
// matter where a flag, a scheme or a path begins.
func hideUsers(hidden []bool, text, word string) {
	for end := strings.LastIndex(text, "@"); end >= 0; end = strings.LastIndex(text[:end], "@") {
		for at := strings.LastIndex(word, "@"); at >= 0; at = strings.LastIndex(word[:at], "@") {
			same := 0
			for same < min(at, end) && text[end-1-same] == word[at-1-same] {
				same++
			}
			// A few letters may match by chance. They reveal nothing, but hiding them would reveal that they match.
			if at == same || strings.ContainsAny(word[at-1-same:at], separators) {
				markHidden(hidden[end-same : end])
			}
		}
	}
}

// spellingVariants returns the ways in which a message may spell a word.
func spellingVariants(word string) (all []string) {
	for _, w := range []string{word, path.Clean(word)} { // as file names are spelled
		if decoded, err := url.PathUnescape(w); err == nil && decoded != w {
			all = append(all, decoded)
		}
		all = append(all, w)
	}
	for _, s := range all {
		if valid := strings.ToValidUTF8(s, "\ufffd"); valid != s { // as holder texts are spelled
			all = append(all, valid)
		}
	}
	for _, s := range all {
		quoted := strconv.Quote(s)
		for _, other := range []string{oneLine(s), quoted[1 : len(quoted)-1], oneLine(quoted[1 : len(quoted)-1])} {
			if other != s {
				all = append(all, other)
			}
		}
	}
	return all
}

// checkName refuses a lock name that looks like a URL with a password: a flag was forgotten, and everybody who lists
// names would see the password.
func checkName(name string) error {
	if engine.HoldsPassword(name) {
		return exit.Errorf(exit.Usage,
			"NAME looks like the URL of an engine, with a user or a password: say --engine before it, or better put "+
				"it into LEASEHOLD_ENGINE, since others can see the words of a command line")
	}
	return nil
}
