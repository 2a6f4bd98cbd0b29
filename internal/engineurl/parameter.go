package engineurl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parameter is a parameter that a URL may have, once.
type Parameter[T any] struct {
	name    string
	schemes []string // the schemes that have it; nil means all
	set     func(t *T, value string) (allowed string)
}

// Only returns the parameter for some schemes only.
func (p Parameter[T]) Only(schemes ...string) Parameter[T] {
	p.schemes = schemes
	return p
}

func (p Parameter[T]) belongsTo(scheme string) bool {
	return p.schemes == nil || slices.Contains(p.schemes, scheme)
}

// Text is a parameter with any text as its value. If the text, percent-decoded, is not allowed, set
// returns what is; otherwise an empty string.
func Text[T any](name string, set func(t *T, text string) (allowed string)) Parameter[T] {
	return Parameter[T]{name: name, set: set}
}

// TextTo is a parameter that puts any text into a field.
func TextTo[T any](name string, field func(t *T) *string) Parameter[T] {
	return Text(name, func(t *T, text string) string {
		*field(t) = text
		return ""
	})
}

// Duration is a parameter with a duration as its value. If set does not allow it, set returns the
// range that it allows, as in "between 1s and 1h". No set may allow a negative one.
func Duration[T any](name string, set func(t *T, d time.Duration) (allowed string)) Parameter[T] {
	return Text(name, func(t *T, text string) string {
		d, err := time.ParseDuration(text)
		if err != nil {
			d = -1 // set returns what it allows
		}
		allowed := set(t, d)
		if allowed == "" && err == nil {
			return ""
		}
		return "a duration " + allowed + ", with its unit (ms, s, m or h)"
	})
}

// DurationTo is a parameter that puts a duration above zero into a field.
func DurationTo[T any](name string, field func(t *T) *time.Duration) Parameter[T] {
	return Duration(name, func(t *T, d time.Duration) string {
		if d <= 0 {
			return "above zero"
		}
		*field(t) = d
		return ""
	})
}

// NumberTo is a parameter that puts a number into a field.
func NumberTo[T any](name string, lowest, highest int, field func(t *T) *int) Parameter[T] {
	return Text(name, func(t *T, text string) string {
		n, err := strconv.Atoi(text)
		if err != nil || n < lowest || n > highest {
			return fmt.Sprintf("a number from %d to %d", lowest, highest)
		}
		*field(t) = n
		return ""
	})
}

// Word is a parameter with one of several words as its value.
func Word[T any](name string, words []string, set func(t *T, word string)) Parameter[T] {
	return Text(name, func(t *T, text string) string {
		if !slices.Contains(words, text) {
			return strings.Join(words, " or ") + ", or left out"
		}
		set(t, text)
		return ""
	})
}

// Switch is a parameter with one word as its only value.
func Switch[T any](name, word string, set func(t *T)) Parameter[T] {
	return Word(name, []string{word}, func(t *T, _ string) { set(t) })
}
