//go:build !no_sqlite

package engine

import (
	"strings"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/engineurl"
	"github.com/leasehold-go/leasehold/sqlite"
)

var sqliteSyntax = engineurl.Syntax[sqlite.Sharing]{
	Parameters: []engineurl.Parameter[sqlite.Sharing]{
		engineurl.Word("share", []string{"group", "all"}, func(s *sqlite.Sharing, word string) {
			*s = map[string]sqlite.Sharing{"group": sqlite.Group, "all": sqlite.Everybody}[word]
		}),
	},
}

func openSQLite(raw string) (driver.Engine, func() error, error) {
	u := engineurl.SplitLocal(raw)
	var sharing sqlite.Sharing
	if err := sqliteSyntax.SetParameters(u, &sharing); err != nil {
		return nil, nil, err
	}
	path, err := sqlitePath(u.Path)
	if err != nil {
		return nil, nil, err
	}
	return opened(sqlite.Open(path, sqlite.WithSharing(sharing)))
}

// sqlitePath returns the file that sqlite:PATH or sqlite:///PATH names. It decodes nothing: the name is used as it was
// typed.
func sqlitePath(location string) (string, error) {
	path := location
	if after, found := strings.CutPrefix(location, "//"); found {
		if !strings.HasPrefix(after, "/") {
			return "", &URLError{Part: "location", Value: showable(location),
				Allowed: "a path, as in sqlite:locks.db or sqlite:///var/lib/locks.db"}
		}
		path = after
	}
	if strings.Contains(path, "://") {
		return "", &URLError{Part: "a URL behind sqlite:",
			Allowed: "a path, as in sqlite:locks.db; or leave sqlite: away"}
	}
	if path == "" {
		return "", &URLError{Part: "an empty path", Allowed: "the file to keep locks in, as in sqlite:locks.db"}
	}
	return path, nil
}
