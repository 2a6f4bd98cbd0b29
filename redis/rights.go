package redis

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// RightsError says that a request was refused for good, because the user lacks rights. Its field Missing holds the
// missing rights, as words of ACL SETUSER: "+evalsha", "~lock:shop". It is empty if the server does not say what it
// refused. The error is marked with [driver.Permanent].
type RightsError = reply.RightsError

// isDenied reports whether the server refused to begin a request because the user lacks a right.
func isDenied(err error) bool { return redis.HasErrorPrefix(err, "NOPERM") }

// keyPatternEscaper makes a key pattern that matches a text literally, with as few escapes as possible.
var keyPatternEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// aboutKeys names the keys of a name in an error that says that the user may not use one of them: the server does not
// say which. access says what they are needed for: empty to read and write, "%R" to read.
func aboutKeys(n redisKeys, access string, err error) error {
	e, lacks := errors.AsType[*RightsError](err)
	if !lacks || len(e.Missing) > 0 || !strings.Contains(e.Unwrap().Error(), " key") {
		return err
	}
	missing := []string{
		access + "~" + keyPatternEscaper.Replace(n.value),
		access + "~" + keyPatternEscaper.Replace(n.partPrefix()) + "*",
	}
	return replies.NewRightsError(missing, e.Unwrap())
}
