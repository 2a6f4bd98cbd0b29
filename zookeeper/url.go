package zookeeper

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// Environment variables that say what the URL given to [Open] leaves out, so that no file and no command line needs to hold a password. What the URL
// does say counts.
const (
	EnvUser     = "LEASEHOLD_ZOOKEEPER_USER"
	EnvPassword = "LEASEHOLD_ZOOKEEPER_PASSWORD"
)

// Open is [New] with a URL:
//
//	zookeeper://[USER:PASSWORD@]HOST[:PORT],HOST[:PORT]...[/CHROOT]
//
// and these parameters behind a question mark, each at most once:
//
//	prefix            see WithPrefix; below the chroot, if there is one
//	session_timeout   see WithSessionTimeout
//	timeout           see WithTimeout
//
// User and password are percent-encoded; see [WithAuth]. What the URL leaves out is taken from the environment, see [EnvUser]. The port is 2181 by
// default. The chroot is a node that everything is below; it is created when it is needed.
//
// A URL that is not allowed is a [*URLError]. No error shows a password.
func Open(ctx context.Context, rawURL string) (*Engine, error) {
	return openURL(ctx, rawURL, os.Getenv)
}

func openURL(ctx context.Context, raw string, getenv func(string) string) (*Engine, error) {
	c, err := parseURL(raw, getenv)
	if err != nil {
		return nil, err
	}
	return open(ctx, c)
}

// URLError says what is wrong with the URL given to [Open]. Nothing of user names, passwords, hosts and the values of parameters is ever part of it,
// also where the URL is so broken that a password stands where something else belongs.
type URLError struct {
	// Part is what is wrong, as in "scheme" or "parameter".
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
	scheme = "zookeeper://"
	port   = "2181" // unless the URL says another
)

// parseURL takes a URL apart. net/url is not used for the whole of it: it refuses lists of hosts, and quotes passwords in its errors.
func parseURL(raw string, getenv func(string) string) (c config, err error) {
	c = config{prefix: DefaultPrefix, sessionTimeout: DefaultSessionTimeout, timeout: DefaultTimeout}
	rest, found := strings.CutPrefix(raw, scheme)
	switch {
	case !found:
		return c, &URLError{Part: "a value without the scheme", Allowed: "one that begins with " + scheme}
	case strings.Contains(rest, "#"):
		return c, &URLError{Part: "a # in it", Allowed: "written as %23"}
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, chroot, rooted := strings.Cut(rest, "/")
	userInfo, hosts := "", authority
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		userInfo, hosts = authority[:i], authority[i+1:]
	}
	// With an @ further on, what stands before it may be a password that contains an unescaped slash or question mark.
	suspect := userInfo == "" && strings.Contains(chroot+query, "@")
	if err := c.setUser(userInfo, getenv); err != nil {
		return c, err
	}
	for one := range strings.SplitSeq(hosts, ",") {
		address, fault := engineurl.Address(one, port, port) // of which no value is shown: if the @ is missing, a password may stand here
		if fault != nil {
			return c, &URLError{Part: fault.Part, Allowed: fault.Allowed}
		}
		if !slices.Contains(c.servers, address) {
			c.servers = append(c.servers, address)
		}
	}
	if err := c.setParameters(query, suspect); err != nil {
		return c, err
	}
	if rooted && chroot != "" {
		root, err := url.PathUnescape("/" + chroot)
		if err != nil || !validPath(root) || !validPath(root+c.prefix) {
			return c, &URLError{Part: "path", Allowed: "left out, or that of a node, as in zookeeper://localhost/teams/a"}
		}
		c.prefix = root + c.prefix
	}
	return c, nil
}

func (c *config) setUser(info string, getenv func(string) string) error {
	user, password, _ := strings.Cut(info, ":")
	var err error
	if user, err = url.PathUnescape(user); err == nil {
		password, err = url.PathUnescape(password)
	}
	if err != nil { // which quotes it
		return &URLError{Part: "user name or password", Allowed: "percent-encoded: a % in it is written as %25"}
	}
	if user == "" {
		user = getenv(EnvUser)
	}
	if password == "" {
		password = getenv(EnvPassword)
	}
	if user == "" && password == "" {
		return nil
	}
	if WithAuth(user, password)(c) != nil {
		return &URLError{Part: "user name or password", Allowed: "both given, in the URL or in " + EnvUser + " and " + EnvPassword + ", the user name without a colon"}
	}
	return nil
}

// urlParameters are those that a URL may have, each with the option that it makes of its value, or nil.
var urlParameters = map[string]func(string) Option{
	"prefix":          WithPrefix,
	"session_timeout": duration(WithSessionTimeout),
	"timeout":         duration(WithTimeout),
}

func duration(option func(time.Duration) Option) func(string) Option {
	return func(text string) Option {
		d, err := time.ParseDuration(text)
		if err != nil {
			d = 0 // which no option allows
		}
		return option(d)
	}
}

var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// setParameters reads name=value pairs. Of a name that is not known nothing is shown if it may be a part of a password.
func (c *config) setParameters(query string, suspect bool) error {
	known := strings.Join(slices.Sorted(maps.Keys(urlParameters)), ", ")
	values, err := url.ParseQuery(query)
	if err != nil { // which quotes it
		return &URLError{Part: "what follows the question mark", Allowed: "name=value pairs joined by &, percent-encoded"}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		option, given := urlParameters[name], values[name]
		switch {
		case option == nil && (suspect || !plainName.MatchString(name) || !strings.Contains(query, name+"=")):
			return &URLError{Part: "a parameter that is not known", Allowed: "one of " + known}
		case option == nil:
			return &URLError{Part: "parameter", Value: name, Allowed: "one of " + known}
		case len(given) > 1:
			return &URLError{Part: "parameter", Value: name, Allowed: "given once"}
		}
		if err := option(given[0])(c); err != nil {
			return &URLError{Part: "parameter", Value: name, Allowed: err.(*OptionError).Allowed}
		}
	}
	return nil
}
