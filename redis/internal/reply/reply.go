// Package reply turns errors of a Redis client into errors that the contract of engines asks for: which requests had no
// effect, which will never succeed, and how to fix what is wrong.
package reply

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// Engine says how an engine is called in its errors. It is safe for concurrent use.
type Engine struct {
	// Name begins each error.
	Name string
	// Page is the page of the documentation that lists the rights which a user needs.
	Page string
	// Unexpected is the error for an answer that a script does not give.
	Unexpected error
}

// noEffect are the first words of replies with which a server refuses a request before it has changed anything. A later
// attempt may succeed.
var noEffect = []string{
	"LOADING", "MASTERDOWN", "CLUSTERDOWN", "READONLY", "NOREPLICAS",
	"BUSY", "MISCONF", "OOM", "NOSCRIPT", "MOVED", "CROSSSLOT",
}

// WrongTypeFix says what to do about a key of another type.
const WrongTypeFix = "the key holds something of another program; use another prefix or name"

// permanent are the first words of replies that every attempt gets, and what to do about them.
var permanent = map[string]string{
	"NOAUTH":    "give a password",
	"WRONGPASS": "give the right user and password",
	"WRONGTYPE": WrongTypeFix,
	"DAMAGED":   "another program has written into what belongs to the name; delete its keys, or use another name",
}

// Explain marks errors that certainly had no effect, and those that come back if the request is repeated, and says what
// to do about them. A network error is not marked: the client may have sent the request before. Errors that are marked
// already are returned as they are.
func (e Engine) Explain(err error) error {
	if err == nil || driver.HadNoEffect(err) {
		return err
	}
	reply, replied := errors.AsType[redis.Error](err)
	err = fmt.Errorf("%s: %w", e.Name, err)
	if !replied {
		return err
	}
	text := strings.TrimPrefix(reply.Error(), "ERR ")
	if IsDenial(text) {
		return e.newRightsError(reply)
	}
	for word, fix := range permanent {
		if strings.HasPrefix(text, word+" ") {
			return driver.Permanent(&refusal{fmt.Sprintf("%s: %s: %s", e.Name, readable(reply), fix), err})
		}
	}
	if strings.HasPrefix(text, "unknown command") {
		return driver.Permanent(fmt.Errorf("%w: the engine needs it; see the smallest rights in %s", err, e.Page))
	}
	if IsMoving(err) {
		return driver.NoEffect(fmt.Errorf("%w: the slot of the name is being moved to another server; try again", err))
	}
	for _, word := range noEffect {
		if strings.HasPrefix(text, word) {
			return driver.NoEffect(err)
		}
	}
	return err
}

// refusal is a reply that every attempt gets, in words for people.
type refusal struct {
	text string
	err  error
}

func (r *refusal) Error() string { return r.text }

func (r *refusal) Unwrap() error { return r.err }

// scriptPosition matches the script hash and line that the server appends to an error: Valkey 9 the line alone.
var scriptPosition = regexp.MustCompile(` script: ([0-9a-f]{40}, )?on @user_script:\d+\.$`)

// readable returns the text of a reply without what helps nobody but the author of a script.
func readable(reply redis.Error) string {
	return strings.TrimSuffix(scriptPosition.ReplaceAllString(reply.Error(), ""), ".")
}

// IsMoving reports whether the server replied that the slot is moving to another server of the Cluster. Keys of one
// name may then be on two servers.
func IsMoving(err error) bool {
	return redis.HasErrorPrefix(err, "TRYAGAIN") || redis.HasErrorPrefix(err, "ASK ")
}

// IsDenial reports whether the text of a reply, without ERR, says that the user lacks a right.
func IsDenial(text string) bool {
	return strings.HasPrefix(text, "NOPERM ") ||
		strings.HasPrefix(text, "The user executing the script can't ") ||
		strings.HasPrefix(text, "ACL failure in script")
}

// DeniedCommand finds the command in the replies of different versions of the server: in the first group if it is
// denied, in the second if it is unknown.
var DeniedCommand = regexp.MustCompile(`(?:run the '([^' ]+)' command|unknown command '([^' ]+)')`)

// RightsError says that a request was refused for good, because the user lacks rights. It is marked with
// [driver.Permanent].
type RightsError struct {
	// Missing are the missing rights, as words of ACL SETUSER: "+evalsha", "~lock:shop". It is empty if the server does
	// not say what it refused.
	Missing []string
	cause   error // nil if the server has refused nothing yet
	engine  Engine
}

// NewRightsError returns an error that names the missing rights. cause may be nil.
func (e Engine) NewRightsError(missing []string, cause error) error {
	return driver.Permanent(&RightsError{missing, cause, e})
}

// newRightsError makes an error from a reply that says that the user lacks a right.
func (e Engine) newRightsError(reply redis.Error) error {
	var missing []string
	if found := DeniedCommand.FindStringSubmatch(reply.Error()); found != nil && found[1] != "" {
		missing = []string{"+" + strings.ToLower(found[1])}
	}
	return e.NewRightsError(missing, reply)
}

// Error implements error. It says what to do.
func (e *RightsError) Error() string {
	text := e.engine.Name + ": this user lacks rights"
	if len(e.Missing) > 0 {
		text = e.engine.Name + ": this user lacks " + strings.Join(e.Missing, " ")
	}
	if e.cause != nil {
		text += " (" + e.cause.Error() + ")"
	}
	return text + ": give them with ACL SETUSER, or log in as another user; see the smallest rights in " + e.engine.Page
}

// Unwrap returns the server's reply, if the server refused a request.
func (e *RightsError) Unwrap() error { return e.cause }
