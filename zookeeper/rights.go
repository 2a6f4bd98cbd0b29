package zookeeper

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// RightsError is why a request was refused for good: the user lacks a right on a node. It is marked with [driver.Permanent].
type RightsError struct {
	// Right is "create", "delete", "read" or "write". To create and to delete are rights on the node above.
	Right string
	// Node is the node on which it is missing.
	Node string
}

// Error implements error. It says what to do.
func (e *RightsError) Error() string {
	return fmt.Sprintf("zookeeper: this user lacks the right to %s on the node %s (%.1s in an ACL): log in as the user and with the password that have it, let somebody give it to this user "+
		"with setAcl, or, on what programs make, with acl= in their URLs", e.Right, e.Node, e.Right)
}

// lacking makes an error of a refusal for lack of a right that says which. All other errors stay as they are.
func lacking(err error, right, node string) error {
	if !errors.Is(err, zk.ErrNoAuth) {
		return err
	}
	return driver.Permanent(&RightsError{Right: right, Node: node})
}

// forbidden reports whether a right was lacking.
func forbidden(err error) bool {
	_, is := errors.AsType[*RightsError](err)
	return is
}

// lackingFor is lacking for one of several things that are done together.
func lackingFor(err error, op any) error {
	switch op := op.(type) {
	case *zk.CreateRequest:
		return lacking(err, "create", path.Dir(op.Path))
	case *zk.DeleteRequest:
		return lacking(err, "delete", path.Dir(op.Path))
	case *zk.SetDataRequest:
		return lacking(err, "write", op.Path)
	case *zk.CheckVersionRequest:
		return lacking(err, "read", op.Path)
	}
	return err
}

var (
	entry   = regexp.MustCompile(`^([a-z][a-z0-9]*):([^:].*?):([cdrwa]+)(?:,|$)`)
	digest  = regexp.MustCompile(`^[^:]+:[A-Za-z0-9+/]{27}=$`)
	letters = map[rune]int32{'c': zk.PermCreate, 'd': zk.PermDelete, 'r': zk.PermRead, 'w': zk.PermWrite, 'a': zk.PermAdmin}
)

// parseACL reads a list as zkCli.sh has it: SCHEME:ID:RIGHTS, one behind the other, with commas in between. It reports false if it is none.
func parseACL(text string) (all []zk.ACL, ok bool) {
	if text == "" || strings.HasSuffix(text, ",") {
		return nil, false
	}
	for text != "" {
		found := entry.FindStringSubmatch(text)
		if found == nil {
			return nil, false
		}
		text = text[len(found[0]):]
		one := zk.ACL{Scheme: found[1], ID: found[2]}
		if one.Scheme == "digest" {
			one.ID = strings.ReplaceAll(one.ID, " ", "+") // which is what becomes of it in a URL
			if !digest.MatchString(one.ID) {
				return nil, false // with a password instead of its hash nobody could log in
			}
		}
		for _, letter := range found[3] {
			one.Perms |= letters[letter]
		}
		all = append(all, one)
	}
	return all, true
}
