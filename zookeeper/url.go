package zookeeper

import (
	"context"
	"errors"
	"net/url"
	"os"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// Environment variables for what the URL given to [Open] leaves out, so that no file and no command line needs to hold
// a password. Values in the URL take precedence. Instead of the password, LEASEHOLD_ZOOKEEPER_PASSWORD_FILE may name a
// file that has it on one line.
const (
	EnvUser     = "LEASEHOLD_ZOOKEEPER_USER"
	EnvPassword = "LEASEHOLD_ZOOKEEPER_PASSWORD"
)

// Open is [New] with a URL:
//
//	zookeeper://[USER:PASSWORD@]HOST[:PORT],HOST[:PORT]...[/CHROOT]
//
// with zookeepers instead of zookeeper for TLS, and these parameters behind a question mark, each at most once:
//
//	prefix            see WithPrefix; below the chroot, if there is one
//	session_timeout   see WithSessionTimeout
//	timeout           see WithTimeout
//	acl               see WithACL
//	ca                a file of PEM certificates to trust instead of the system's; others must not be able to write it
//	cert, key         the PEM files of the client's own certificate
//	server_name       the name that the servers' certificates must have, by default the host
//
// User and password are percent-encoded; see [WithAuth]. What the URL leaves out is taken from the environment, see
// [EnvUser]. The port is 2181 by default, and 2281 with TLS. Certificates are always checked. The chroot is a node that
// everything is below; it is created when it is needed.
//
// A URL that is not allowed is a [*URLError]. Other errors may also come from files that cannot be read. No error shows
// a password.
func Open(ctx context.Context, rawURL string) (*Engine, error) {
	return openURL(ctx, rawURL, os.Getenv)
}

func openURL(ctx context.Context, raw string, getenv func(string) string) (*Engine, error) {
	c, err := parseURL(raw, getenv)
	if err != nil {
		return nil, err
	}
	config, err := c.tls.Config("zookeeper")
	if err != nil {
		return nil, err
	}
	c.dialer = checkedDialer(config)
	return open(ctx, c)
}

// URLError is returned by [Open] for a URL that is not allowed. Its field Part says what is wrong, such as "scheme" or
// "parameter", and Value is the name of the scheme or of the parameter, if it may be shown. It never shows user names,
// passwords, hosts or values of parameters, even where the URL is so malformed that a password stands where something
// else belongs. Change the URL as its field Allowed says.
type URLError = engineurl.Error

const (
	port       = "2181" // unless the URL has another
	securePort = "2281"
)

var urlSyntax = engineurl.Syntax[config]{
	Engine:  "zookeeper",
	Schemes: []string{"zookeeper", "zookeepers"},
	Parameters: []engineurl.Parameter[config]{
		engineurl.Text("acl", option(WithACL)),
		engineurl.Text("prefix", option(WithPrefix)),
		engineurl.Duration("session_timeout", option(WithSessionTimeout)),
		engineurl.Duration("timeout", option(WithTimeout)),
	},
	TLS:        func(c *config) *engineurl.TLS { return &c.tls },
	TLSSchemes: []string{"zookeepers"},
}

// option returns a function that sets an option. That returns what is allowed if the value is not.
func option[V any](with func(V) Option) func(*config, V) (allowed string) {
	return func(c *config, value V) string {
		if e, ok := errors.AsType[*OptionError](with(value)(c)); ok {
			return e.Allowed
		}
		return ""
	}
}

// parseURL parses a URL and completes it from the environment.
func parseURL(raw string, getenv func(string) string) (c config, err error) {
	c = config{prefix: DefaultPrefix, sessionTimeout: DefaultSessionTimeout, timeout: DefaultTimeout}
	u, err := urlSyntax.Split(raw)
	if err != nil {
		return c, err
	}
	user, password, err := u.Login(getenv, EnvUser, EnvPassword)
	if err != nil {
		return c, err
	}
	if (user != "" || password != "") && WithAuth(user, password)(&c) != nil {
		return c, u.NotAllowed("user name or password",
			"both given, in the URL or in "+EnvUser+" and "+EnvPassword+", the user name without a colon")
	}
	usual := port
	if u.Scheme == "zookeepers" {
		usual = securePort
	}
	if c.servers, err = u.Addresses(usual, usual); err != nil {
		return c, err
	}
	if err := urlSyntax.SetParameters(u, &c); err != nil {
		return c, err
	}
	if len(u.Path) > 1 {
		root, err := url.PathUnescape(u.Path)
		if err != nil || !validPath(root) || !validPath(root+c.prefix) {
			return c, u.NotAllowed("path", "left out, or that of a node, as in zookeeper://localhost/teams/a")
		}
		c.prefix = root + c.prefix
	}
	return c, nil
}
