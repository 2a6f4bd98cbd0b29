package redis

import (
	"errors"
	"os"
)

// Open makes an engine with a client of its own, which [Engine.Close] closes. The URL is one of
//
//	redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]
//	redis+unix://[USER[:PASSWORD]@]/PATH
//	redis+sentinel://[USER[:PASSWORD]@]HOST[:PORT],HOST[:PORT].../MASTER
//	redis+cluster://[USER[:PASSWORD]@]HOST[:PORT],HOST[:PORT]...
//
// with rediss instead of redis for TLS. These parameters may follow a question mark, each at most once:
//
//	db                        the database, 0 by default
//	prefix                    see WithPrefix
//	max_ttl                   see WithMaxTTL
//	guard=off                 see WithoutFailoverGuard
//	replicas, replicas_wait   see WithReplicas; the wait is 1s by default
//	retention                 see WithTokenRetention
//	polling=on                see WithPolling
//	dial_timeout              for a connection to a server, 2s by default
//	timeout                   for a reply of a server, 3s by default; the context of a request ends it earlier
//	pool                      connections to a server, by default 10 for each processor
//	ca                        a file of PEM certificates to trust instead of the system's
//	cert, key                 the PEM files of the client's own certificate
//	server_name               the name that the server's certificate must have, by default the host
//	sentinel_user, sentinel_password   for the Sentinels, if they ask for a login
//
// Nothing is printed: all failures are errors of the request. Clients of go-redis write to standard error, through one
// logger that all clients of a process share. The client of Open writes nothing there. With Sentinels this takes more:
// the first Open of such a URL turns the logger off, as logging.Disable of go-redis does. A program that wants to see
// what its other clients write calls SetLogger of go-redis afterwards.
//
// User names and passwords are percent-encoded. What the URL leaves out is taken from the environment, see [EnvUser].
// Certificates are always checked.
//
// An invalid URL is a [*URLError]; other errors are about files that cannot be read. Open sends nothing: the first
// request finds out whether the server is there. No error shows a password.
//
// The client does not retry, except to follow redirections of a Cluster, since the library retries. In a
// Cluster it sends each request by itself; a program with hundreds of goroutines should give [New] a client of its
// own there, from its AutoPipeline method. On one server, the engine sends requests of several goroutines together.
func Open(rawURL string) (*Engine, error) { return openWith(rawURL, os.Getenv) }

func openWith(rawURL string, getenv func(string) string) (*Engine, error) {
	t, err := parseURL(rawURL, getenv)
	if err != nil {
		return nil, err
	}
	opened, err := t.Open()
	if err != nil {
		return nil, err
	}
	e, err := New(opened.Redis, t.opts...)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	e.opened = opened
	return e, nil
}
