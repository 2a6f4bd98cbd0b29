//go:build unix

// Package config finds out what is set where: by flags, in the environment, in the config file of the user, in that of
// the system, or nowhere.
package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// EngineVariable is the environment variable that names the engine.
const EngineVariable = "LEASEHOLD_ENGINE"

// SystemFile is the config file of the whole machine. Whoever builds the command for a system that has such files
// elsewhere may set another path, with -ldflags "-X ...config.SystemFile=PATH". Whoever runs it cannot.
var SystemFile = "/etc/leasehold/config.toml"

// SystemOwner is the number of the user to whom SystemFile and its folders must belong, besides root. Tests change it.
var SystemOwner = 0

// Source is where a value is set.
type Source struct {
	// Name is a flag, an environment variable, the path of a file, or "default".
	Name string
	// Line counts from 1; 0 if Name is no file.
	Line int
}

// IsFile reports whether it is a config file.
func (s Source) IsFile() bool { return s.Line > 0 }

// String returns the source as messages show it.
func (s Source) String() string {
	if s.IsFile() {
		return fmt.Sprintf("%s, line %d", s.Name, s.Line)
	}
	return s.Name
}

// Value is what one source says of a setting.
type Value struct {
	Text   string
	Source Source
}

// Error says what is wrong with a config file, and where.
type Error struct {
	File string
	// Line counts from 1; 0 stands for the whole file.
	Line int
	Text string
	// Err is the cause, or nil.
	Err error
}

// NewError returns the error of a value that a config file has.
func NewError(at Source, text string) *Error { return &Error{File: at.Name, Line: at.Line, Text: text} }

// Error implements error.
func (e *Error) Error() string {
	where := "config file " + e.File
	if e.Line > 0 {
		where += fmt.Sprintf(", line %d", e.Line)
	}
	return where + ": " + e.Text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrEmptyVariable says that the environment variable is set to nothing. Jobs of cron and systemd may have such
// variables by mistake, and would exclude nobody on an engine of their own.
var ErrEmptyVariable = errors.New(EngineVariable + " is set, but empty: set it to the URL of the engine, or unset it")

// Engine returns the URL of the engine to use. flag is the value of --engine, and given says whether it was set.
//
// If no engine is named anywhere, Engine creates the folder of the default file.
func Engine(flag string, given bool, lookup Lookup) (Value, error) {
	all, err := namedEngines(flag, given, lookup, false)
	if err != nil {
		return Value{}, err
	}
	if len(all) > 0 {
		return all[0], nil
	}
	path, err := defaultFile(lookup)
	if err != nil {
		return Value{}, fmt.Errorf("no engine: %w; set HOME, or say --engine or %s", err, EngineVariable)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Value{}, fmt.Errorf("no engine: the state folder cannot be made: %w; say --engine or %s", err,
			EngineVariable)
	}
	return Value{"sqlite:" + path, Default}, nil
}

// Default is the source of what is set nowhere.
var Default = Source{Name: "default"}

// Lookup is os.LookupEnv or a substitute.
type Lookup = func(variable string) (value string, set bool)

// Engines returns all URLs of engines that are set anywhere, in the order in which they count, and the default.
func Engines(flag string, given bool, lookup Lookup) ([]Value, error) {
	all, err := namedEngines(flag, given, lookup, true)
	if err != nil {
		return nil, err
	}
	path, err := defaultFile(lookup)
	if err == nil {
		all = append(all, Value{"sqlite:" + path, Default})
	}
	return all, nil
}

// namedEngines returns the URLs of engines that are set. Unless all are wanted, it reads no file behind the first one.
func namedEngines(flag string, given bool, lookup Lookup, all bool) (found []Value, err error) {
	if given {
		found = append(found, Value{flag, Source{Name: "--engine"}})
	}
	if url, set := lookup(EngineVariable); set && (all || len(found) == 0) {
		if url == "" && len(found) == 0 {
			return nil, ErrEmptyVariable
		}
		found = append(found, Value{url, Source{Name: EngineVariable}})
	}
	if !all && len(found) > 0 {
		return found, nil
	}
	files, err := Read(lookup)
	if err != nil {
		return nil, err
	}
	found = append(found, files.Values("engine")...)
	if len(found) == 0 && files.Unreadable != nil {
		return nil, files.Unreadable
	}
	return found, nil
}

func defaultFile(lookup Lookup) (string, error) {
	path, err := folder(lookup, "XDG_STATE_HOME", ".local/state")
	return filepath.Join(path, "locks.db"), err
}

// userFile returns the path of the config file of the user, whether or not it exists.
func userFile(lookup Lookup) (string, error) {
	path, err := folder(lookup, "XDG_CONFIG_HOME", ".config")
	return filepath.Join(path, "config.toml"), err
}

// folder returns leasehold's own folder below the base folder that the variable names, or below the default. It ignores
// relative values, as the XDG specification demands.
func folder(lookup Lookup, variable, fallback string) (string, error) {
	base, _ := lookup(variable)
	if !filepath.IsAbs(base) {
		home, _ := lookup("HOME")
		if home == "" {
			return "", errors.New("HOME is not set")
		}
		base = filepath.Join(home, fallback)
	}
	return filepath.Join(base, "leasehold"), nil
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
