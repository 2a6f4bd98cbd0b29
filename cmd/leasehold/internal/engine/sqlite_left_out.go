//go:build no_sqlite

package engine

var openSQLite openFunc // this build has no engine sqlite
