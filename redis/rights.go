package redis

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// RightsError says that a request was refused for good, because the user lacks rights. It is marked with
// [driver.Permanent].
type RightsError struct {
	// Missing are the missing rights, as words of ACL SETUSER: "+evalsha", "~lock:shop". It is empty if the server does
	// not say what it refused.
	Missing []string
	cause   error
}

// Error implements error. It says what to do.
func (e *RightsError) Error() string {
	text := "redis: this user lacks rights"
	if len(e.Missing) > 0 {
		text = "redis: this user lacks " + strings.Join(e.Missing, " ")
	}
	if e.cause != nil {
		text += " (" + e.cause.Error() + ")"
	}
	return text + ": give them with ACL SETUSER, or log in as another user; " +
		"see the smallest rights in docs/engines/redis.md"
}

// Unwrap returns the server's reply, if the server refused a request.
func (e *RightsError) Unwrap() error { return e.cause }

// newRightsError makes an error from a reply that says that the user lacks a right.
func newRightsError(reply redis.Error) error {
	e := &RightsError{cause: reply}
	if found := deniedCommand.FindStringSubmatch(reply.Error()); found != nil && found[1] != "" {
		e.Missing = []string{"+" + strings.ToLower(found[1])}
	}
	return driver.Permanent(e)
}

// isDenied reports whether the server refused to begin a request because the user lacks a right.
func isDenied(err error) bool { return redis.HasErrorPrefix(err, "NOPERM") }

// keyPatternEscaper makes a key pattern that matches a text literally, with as few escapes as possible.
var keyPatternEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// aboutKeys names the keys of a name in an error that says that the user may not use one of them: the server does not
// say which. access says what they are needed for: empty to read and write, "%R" to read.
func aboutKeys(n names, access string, err error) error {
	e, lacks := errors.AsType[*RightsError](err)
	if !lacks || len(e.Missing) > 0 || !strings.Contains(e.cause.Error(), " key") {
		return err
	}
	missing := []string{
		access + "~" + keyPatternEscaper.Replace(n.value),
		access + "~" + keyPatternEscaper.Replace(n.partPrefix()) + "*",
	}
	return driver.Permanent(&RightsError{missing, e.cause})
}
