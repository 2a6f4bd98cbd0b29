package zookeeper

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

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
//	ca                a file of PEM certificates to trust instead of the system's
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
	if c.secure {
		config, err := c.files.Config()
		if err != nil {
			return nil, fmt.Errorf("zookeeper engine: URL: %w", err)
		}
		c.dialer = (&tls.Dialer{Config: config}).DialContext
	}
	return open(ctx, c)
}

// URLError is returned by [Open] for a URL that is not allowed. It never shows user names, passwords, hosts or values
// of parameters, even where the URL is so malformed that a password stands where something else belongs. Change the URL
// as Allowed says.
type URLError struct {
	// Part is what is wrong, such as "scheme" or "parameter".
	Part string
	// Value is the name of the parameter, if Part is one and the name may be shown.
	Value string
	// Allowed says what may be given.
	Allowed string
}

// Error implements error.
func (e *URLError) Error() string {
	s := "zookeeper engine: URL: " + e.Part
	if e.Value != "" {
		s += fmt.Sprintf(" %q", e.Value)
	}
	return s + " is not allowed: it must be " + e.Allowed
}

const (
	scheme       = "zookeeper://"
	secureScheme = "zookeepers://"
	port         = "2181" // unless the URL has another
	securePort   = "2281"
)

// parseURL parses a URL and completes it from the environment.
func parseURL(raw string, getenv func(string) string) (c config, err error) {
	c = config{prefix: DefaultPrefix, sessionTimeout: DefaultSessionTimeout, timeout: DefaultTimeout}
	rest, found := strings.CutPrefix(raw, scheme)
	usual := port
	if !found {
		rest, c.secure = strings.CutPrefix(raw, secureScheme)
		usual = securePort
	}
	if !found && !c.secure {
		allowed := "one that begins with " + scheme + " or " + secureScheme
		return c, &URLError{Part: "a value without the scheme", Allowed: allowed}
	}
	p, fault := engineurl.Split(rest)
	if fault != nil {
		return c, (*URLError)(fault)
	}
	password := p.Password
	if password == "" {
		var err error
		if password, err = engineurl.Secret(getenv, EnvPassword); err != nil {
			return c, fmt.Errorf("zookeeper engine: %w", err)
		}
	}
	if err := c.setUser(cmp.Or(p.User, getenv(EnvUser)), password); err != nil {
		return c, err
	}
	if c.servers, fault = p.Addresses(usual, usual); fault != nil {
		return c, (*URLError)(fault)
	}
	if err := c.setParameters(&p); err != nil {
		return c, err
	}
	if len(p.Path) > 1 {
		root, err := url.PathUnescape(p.Path)
		if err != nil || !validPath(root) || !validPath(root+c.prefix) {
			allowed := "left out, or that of a node, as in zookeeper://localhost/teams/a"
			return c, &URLError{Part: "path", Allowed: allowed}
		}
		c.prefix = root + c.prefix
	}
	return c, nil
}

func (c *config) setParameters(p *engineurl.Parts) error {
	known := slices.Collect(maps.Keys(urlParameters))
	elsewhere := func(name string) string {
		if slices.Contains(engineurl.TLSParameters, name) {
			return secureScheme
		}
		return ""
	}
	if c.secure {
		known = append(known, engineurl.TLSParameters...)
	}
	slices.Sort(known)
	fault := p.Parameters(known, elsewhere, func(name, value string) (allowed string) {
		option, ours := urlParameters[name]
		if !ours {
			return c.files.Set(name, value)
		}
		if err := option(value)(c); err != nil {
			return err.(*OptionError).Allowed
		}
		return ""
	})
	if fault == nil {
		fault = c.files.Fault()
	}
	if fault != nil {
		return (*URLError)(fault)
	}
	return nil
}

func (c *config) setUser(user, password string) error {
	if user == "" && password == "" {
		return nil
	}
	if WithAuth(user, password)(c) != nil {
		allowed := "both given, in the URL or in " + EnvUser + " and " + EnvPassword + ", the user name without a colon"
		return &URLError{Part: "user name or password", Allowed: allowed}
	}
	return nil
}

// urlParameters are the parameters that a URL may have, each with the option that it sets.
var urlParameters = map[string]func(string) Option{
	"acl":             WithACL,
	"prefix":          WithPrefix,
	"session_timeout": duration(WithSessionTimeout),
	"timeout":         duration(WithTimeout),
}

func duration(option func(time.Duration) Option) func(string) Option {
	return func(text string) Option {
		d, err := time.ParseDuration(text)
		if err != nil {
			d = 0 // no option allows 0
		}
		return option(d)
	}
}
