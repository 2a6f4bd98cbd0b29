//go:build unix

package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Key is a setting that a config file may have.
type Key struct {
	// Name is that in the file.
	Name string
	// Flag is the flag of leasehold run of which it is the default; empty for the engine.
	Flag string

	form form
}

// form is how a value is written.
type form int

const (
	text form = iota
	duration
	number
	boolean
)

// Keys are all settings.
var Keys = []Key{
	{"engine", "", text},
	{"ttl", "ttl", duration},
	{"wait", "wait", duration},
	{"max_waiters", "max-waiters", number},
	{"label", "label", text},
	{"on_lost", "on-lost", text},
	{"kill_after", "kill-after", duration},
	{"quiet", "quiet", boolean},
}

// examples are values of each form.
var examples = map[form]string{text: `"..."`, duration: `"30s"`, number: "100", boolean: "true"}

// example shows a line of a config file.
const example = `a line such as engine = "sqlite:/var/lib/locks.db"`

// file is what a config file says.
type file = map[string]Value

// readFile reads a config file. It is empty if there is no such file.
func readFile(path string, system bool) (file, error) {
	content, err := readText(path, system)
	if err != nil {
		return nil, err
	}
	var said map[string]any
	meta, err := toml.Decode(string(content), &said)
	// The parser's message may quote the line, which may contain a password.
	if wrong, ok := errors.AsType[toml.ParseError](err); ok {
		return nil, &Error{File: path, Line: wrong.Position.Line, Text: "is not TOML; it must be " + example}
	}
	if err != nil {
		return nil, &Error{File: path, Text: "is not TOML; it must be " + example}
	}
	values := file{}
	for _, found := range meta.Keys() {
		key, known := keyOf(found[0])
		line := lineOf(string(content), found[0])
		if !known {
			what := "a key that is not known" // the key may be a URL with a password, or part of one
			if plainKey.MatchString(found[0]) {
				what = fmt.Sprintf("unknown key %q", found[0])
			}
			return nil, &Error{File: path, Line: line, Text: what + ": the keys are " + keyNames()}
		}
		value, ok := key.form.read(said[key.Name])
		if !ok {
			return nil, &Error{File: path, Line: line,
				Text: fmt.Sprintf("%s is written in another form: it must be as in %s = %s", key.Name, key.Name,
					examples[key.form])}
		}
		values[key.Name] = Value{value, Source{path, max(line, 1)}}
	}
	return values, nil
}

var plainKey = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]{0,31}$`)

func keyOf(name string) (Key, bool) {
	for _, k := range Keys {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

func keyNames() string {
	var names []string
	for _, k := range Keys {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

// read returns a value as a flag would have it.
func (f form) read(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, f == text || f == duration
	case int64:
		if f == duration { // a bare number is seconds, as in a flag
			return strconv.FormatInt(v, 10) + "s", true
		}
		return strconv.FormatInt(v, 10), f == number
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64) + "s", f == duration
	case bool:
		return strconv.FormatBool(v), f == boolean
	}
	return "", false
}
