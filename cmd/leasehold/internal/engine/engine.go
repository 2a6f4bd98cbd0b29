package engine

import (
	"strings"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
	"github.com/leasehold-go/leasehold/sqlite"
)

// opener opens the engines of one scheme.
type opener struct {
	scheme string
	form   string   // how such a URL looks, for messages
	params []string // the parameters that it knows
	open   func(URL) (driver.Engine, func() error, error)
}

// openers are the schemes that there are. A new engine is one more line.
var openers = []opener{
	{scheme: "memory", form: "memory:", open: openMemory},
	{scheme: "sqlite", form: "sqlite:PATH", open: openSQLite},
}

// Forms says how engine URLs look, for help texts.
func Forms() string { return forms(openers) }

// Open opens the engine that raw names. The function that it returns closes the
// engine. A URL that is not allowed is a *URLError; every other error means that the engine
// cannot be reached or used.
func Open(raw string) (driver.Engine, func() error, error) {
	u, o, err := parse(raw, openers)
	if err != nil {
		return nil, nil, err
	}
	return o.open(u)
}

// openMemory opens an engine that ends with this process: for tests.
func openMemory(u URL) (driver.Engine, func() error, error) {
	if u.Location != "" {
		return nil, nil, &URLError{Part: "what follows memory:", Value: public(u.Location), Allowed: "left out"}
	}
	return memory.New(), func() error { return nil }, nil
}

func openSQLite(u URL) (driver.Engine, func() error, error) {
	path, err := sqlitePath(u.Location)
	if err != nil {
		return nil, nil, err
	}
	e, err := sqlite.Open(path)
	if err != nil {
		return nil, nil, err
	}
	return e, e.Close, nil
}

// sqlitePath returns the file that sqlite:PATH or sqlite:///PATH names. Nothing in it is
// decoded: what is typed is the name of the file.
func sqlitePath(location string) (string, error) {
	path := location
	if after, found := strings.CutPrefix(location, "//"); found {
		if !strings.HasPrefix(after, "/") {
			return "", &URLError{Part: "location", Value: public(location), Allowed: "a path, as in sqlite:locks.db or sqlite:///var/lib/locks.db"}
		}
		path = after
	}
	if path == "" {
		return "", &URLError{Part: "an empty path", Allowed: "the file to keep locks in, as in sqlite:locks.db"}
	}
	return path, nil
}
