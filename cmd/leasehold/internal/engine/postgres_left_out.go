//go:build no_postgres || no_servers

package engine

var openPostgres openFunc // this build has no engine postgres
