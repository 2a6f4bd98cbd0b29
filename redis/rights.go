package redis

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// RightsError is why a request was refused for good: the user lacks rights. It is marked with [driver.Permanent].
type RightsError struct {
	// Missing are the rights, as words of ACL SETUSER: "+evalsha", "~lock:shop". There are none if the server does not say what it has refused.
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
	return text + ": give them with ACL SETUSER, or log in as another user; see the smallest rights in docs/engines/redis.md"
}

// Unwrap returns what the server has said, if it was asked for something that it has refused.
func (e *RightsError) Unwrap() error { return e.cause }

// lackingRight makes an error of a reply that says that the user lacks a right.
func lackingRight(reply redis.Error) error {
	e := &RightsError{cause: reply}
	if found := lacking.FindStringSubmatch(reply.Error()); found != nil && found[1] != "" {
		e.Missing = []string{"+" + strings.ToLower(found[1])}
	}
	return driver.Permanent(e)
}

// isDenied reports whether a server has refused a request before it was begun, for lack of a right.
func isDenied(err error) bool { return redis.HasErrorPrefix(err, "NOPERM") }

// literally makes a pattern of keys that matches a text and nothing else, as well to read as may be.
var literally = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// aboutKeys names the keys of a name in an error that says that the user may not touch one of them, with what they may be needed for: to write if it
// is empty, or "%R" to read. The server does not say which.
func aboutKeys(n names, access string, err error) error {
	e, lacks := errors.AsType[*RightsError](err)
	if !lacks || len(e.Missing) > 0 || !strings.Contains(e.cause.Error(), " key") {
		return err
	}
	return driver.Permanent(&RightsError{[]string{access + "~" + literally.Replace(n.value), access + "~" + literally.Replace(n.beside) + "*"}, e.cause})
}
