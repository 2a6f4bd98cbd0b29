//go:build unix

// Package config finds out which engine the user means: flag, environment, config
// file, and else a file in the user's state folder.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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

// example is all that a config file may say.
const example = `a line such as engine = "sqlite:/var/lib/locks.db"`

// Engine returns the URL of the engine to use. flag is what --engine says, and given
// whether it was there. getenv is os.Getenv or a stand-in for it.
//
// If nobody names an engine, the folder of the default file is created.
func Engine(flag string, given bool, getenv func(string) string) (string, error) {
	if given {
		return flag, nil
	}
	if url := getenv(EngineVariable); url != "" {
		return url, nil
	}
	// Without a home there is no config file either, which is no error by itself.
	if path, err := folder(getenv, "XDG_CONFIG_HOME", ".config"); err == nil {
		url, err := read(filepath.Join(path, "config.toml"))
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

// folder returns leasehold's own folder below the base folder that the variable names, or
// below the default. The XDG specification has relative values ignored.
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

// read returns the engine that the config file names. A file that does not exist
// names none.
func read(path string) (string, error) {
	text, err := contents(path)
	if err != nil {
		return "", err
	}
	// What the parser says may quote the line, and the line may hold a password.
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
			return "", &Error{File: path, Line: lineOf(string(text), key[0]), Text: fmt.Sprintf("unknown key %q: the only key is engine", key[0])}
		}
	}
	engine, isText := said["engine"].(string)
	if !isText && meta.IsDefined("engine") {
		return "", &Error{File: path, Line: lineOf(string(text), "engine"), Text: "engine is not a text; it must be " + example}
	}
	return engine, nil
}

// longest is how many bytes a config file may have.
const longest = 1 << 20

// contents returns what the file says; nothing if there is none.
func contents(path string) ([]byte, error) {
	if err := ownpath.Check(path, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
		fault, is := errors.AsType[*ownpath.Fault](err)
		if !is {
			return nil, unreadable(path, err)
		}
		return nil, &Error{File: path, Text: fmt.Sprintf("is not obeyed: %s, who could change where locks are kept: %s, or say --engine", fault, fault.Mend())}
	}
	// Without O_NONBLOCK a pipe would be waited for before it can be seen that it is one.
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
		return nil, &Error{File: path, Text: "is no regular file: put " + example + " into a file there, or say --engine"}
	}
	text, err := io.ReadAll(io.LimitReader(file, longest+1))
	switch {
	case err != nil:
		return nil, unreadable(path, err)
	case len(text) > longest:
		return nil, &Error{File: path, Text: "is larger than 1 MiB: it must be " + example}
	}
	return text, nil
}

func unreadable(path string, err error) error {
	if why := errors.Unwrap(err); why != nil {
		err = why // without the path, which is told already
	}
	return &Error{File: path, Text: "cannot be read: " + err.Error()}
}

// lineOf returns the first line that sets the key or opens the table of that name, or 0. The
// parser does not tell.
func lineOf(text, key string) int {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimLeft(line, " \t[\"'")
		if rest, found := strings.CutPrefix(line, key); found && strings.ContainsAny(rest[:min(1, len(rest))], " \t=.]\"'") {
			return i + 1
		}
	}
	return 0
}
