//go:build unix

// Package config finds the engine to use: from the flag, the environment, the config file, or else a file in the user's
// state folder.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/BurntSushi/toml"

	"github.com/leasehold-go/leasehold/internal/ownpath"
)

// EngineVariable is the environment variable that names the engine.
const EngineVariable = "LEASEHOLD_ENGINE"

// Error says what is wrong with the config file, and where.
type Error struct {
	File string
	// Line counts from 1; 0 stands for the whole file.
	Line int
	Text string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("config file %s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("config file %s, line %d: %s", e.File, e.Line, e.Text)
}

// example shows all that a config file may contain.
const example = `a line such as engine = "sqlite:/var/lib/locks.db"`

// Engine returns the URL of the engine to use. flag is the value of --engine, and given says whether it was set. getenv
// is os.Getenv or a substitute.
//
// If no engine is named anywhere, Engine creates the folder of the default file.
func Engine(flag string, given bool, getenv func(string) string) (string, error) {
	if given {
		return flag, nil
	}
	if url := getenv(EngineVariable); url != "" {
		return url, nil
	}
	// Without a home folder there is no config file, which is not an error by itself.
	if path, err := File(getenv); err == nil {
		url, err := readFile(path)
		if err != nil || url != "" {
			return url, err
		}
	}
	path, err := folder(getenv, "XDG_STATE_HOME", ".local/state")
	if err != nil {
		return "", fmt.Errorf("no engine: %w; set HOME, or say --engine or %s", err, EngineVariable)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("no engine: the state folder cannot be made: %w; say --engine or %s", err, EngineVariable)
	}
	return "sqlite:" + filepath.Join(path, "locks.db"), nil
}

// File returns the path of the config file, whether or not it exists.
func File(getenv func(string) string) (string, error) {
	path, err := folder(getenv, "XDG_CONFIG_HOME", ".config")
	return filepath.Join(path, "config.toml"), err
}

// folder returns leasehold's own folder below the base folder that the variable names, or below the default. It ignores
// relative values, as the XDG specification demands.
func folder(getenv func(string) string, variable, fallback string) (string, error) {
	base := getenv(variable)
	if !filepath.IsAbs(base) {
		home := getenv("HOME")
		if home == "" {
			return "", errors.New("HOME is not set")
		}
		base = filepath.Join(home, fallback)
	}
	return filepath.Join(base, "leasehold"), nil
}

// readFile returns the engine that the config file names, or "" if there is no file.
func readFile(path string) (string, error) {
	text, err := readText(path)
	if err != nil {
		return "", err
	}
	// The parser's message may quote the line, which may contain a password.
	var said map[string]any
	meta, err := toml.Decode(string(text), &said)
	if wrong, ok := errors.AsType[toml.ParseError](err); ok {
		return "", &Error{File: path, Line: wrong.Position.Line, Text: "is not TOML; it must be " + example}
	}
	if err != nil {
		return "", &Error{File: path, Text: "is not TOML; it must be " + example}
	}
	for _, key := range meta.Keys() {
		if key[0] != "engine" {
			what := "a key that is not known" // the key may be a URL with a password, or part of one
			if plainKey.MatchString(key[0]) {
				what = fmt.Sprintf("unknown key %q", key[0])
			}
			return "", &Error{File: path, Line: lineOf(string(text), key[0]), Text: what + ": the only key is engine"}
		}
	}
	engine, isText := said["engine"].(string)
	if !isText && meta.IsDefined("engine") {
		return "", &Error{File: path, Line: lineOf(string(text), "engine"),
			Text: "engine is not a text; it must be " + example}
	}
	return engine, nil
}

var plainKey = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]{0,31}$`)

// maxFileSize is the largest size of a config file in bytes.
const maxFileSize = 1 << 20

// readText returns the content of the file, or nil if there is none.
func readText(path string) ([]byte, error) {
	if err := ownpath.Check(path, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
		fault, is := errors.AsType[*ownpath.Fault](err)
		if !is {
			return nil, unreadable(path, err)
		}
		return nil, &Error{File: path,
			Text: fmt.Sprintf("is not obeyed: %s, who could change where locks are kept: %s, or say --engine", fault,
				fault.Fix())}
	}
	// Without O_NONBLOCK, opening a named pipe would wait for a writer.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, unreadable(path, err)
	case !info.Mode().IsRegular():
		return nil, &Error{File: path,
			Text: "is no regular file: put " + example + " into a file there, or say --engine"}
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	switch {
	case err != nil:
		return nil, unreadable(path, err)
	case len(text) > maxFileSize:
		return nil, &Error{File: path, Text: "is larger than 1 MiB: it must be " + example}
	}
	return text, nil
}

func unreadable(path string, err error) error {
	if why := errors.Unwrap(err); why != nil {
		err = why // without the path, which the message has already
	}
	return &Error{File: path, Text: "cannot be read: " + err.Error()}
}

// lineOf returns the first line that sets the key or opens the table of that name, or 0. The parser does not report it.
func lineOf(text, key string) int {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimLeft(line, " \t[\"'")
		if rest, found := strings.CutPrefix(line, key); found &&
			strings.ContainsAny(rest[:min(1, len(rest))], " \t=.]\"'") {
			return i + 1
		}
	}
	return 0
}
