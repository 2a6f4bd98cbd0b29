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

// RightsError is returned for a request that the servers refuse because the user lacks a right on a node. It is marked
// with [driver.Permanent].
type RightsError struct {
	// Right is "create", "delete", "read" or "write". The rights to create and to delete are those of the node above.
	Right string
	// Node is the path of the node on which the right is missing.
	Node string
}

// Error implements error. It says what to do.
func (e *RightsError) Error() string {
	return fmt.Sprintf("zookeeper: this user lacks the right to %s on the node %s (%.1s in an ACL): "+
		"log in as the user and with the password that have it, let somebody give it to this user "+
		"with setAcl, or, on what programs make, with acl= in their URLs", e.Right, e.Node, e.Right)
}

// explainMissingRight turns the refusal of a request for lack of a right into a [RightsError]. It returns all other
// errors as they are.
func explainMissingRight(err error, right, node string) error {
	if !errors.Is(err, zk.ErrNoAuth) {
		return err
	}
	return driver.Permanent(&RightsError{Right: right, Node: node})
}

// isForbidden reports whether a right was missing.
func isForbidden(err error) bool {
	_, is := errors.AsType[*RightsError](err)
	return is
}

// explainMissingRightOf is explainMissingRight for an operation of a transaction.
func explainMissingRightOf(err error, op any) error {
	switch op := op.(type) {
	case *zk.CreateRequest:
		return explainMissingRight(err, "create", path.Dir(op.Path))
	case *zk.DeleteRequest:
		return explainMissingRight(err, "delete", path.Dir(op.Path))
	case *zk.SetDataRequest:
		return explainMissingRight(err, "write", op.Path)
	case *zk.CheckVersionRequest:
		return explainMissingRight(err, "read", op.Path)
	}
	return err
}

var (
	aclEntry    = regexp.MustCompile(`^([a-z][a-z0-9]*):([^:].*?):([cdrwa]+)(?:,|$)`)
	digestID    = regexp.MustCompile(`^[^:]+:[A-Za-z0-9+/]{27}=$`)
	permLetters = map[rune]int32{
		'c': zk.PermCreate, 'd': zk.PermDelete, 'r': zk.PermRead, 'w': zk.PermWrite, 'a': zk.PermAdmin,
	}
)

// parseACL parses a list as zkCli.sh takes it: SCHEME:ID:RIGHTS, separated by commas. It reports false for an invalid
// list.
func parseACL(text string) (all []zk.ACL, ok bool) {
	if text == "" || strings.HasSuffix(text, ",") {
		return nil, false
	}
	for text != "" {
		found := aclEntry.FindStringSubmatch(text)
		if found == nil {
			return nil, false
		}
		text = text[len(found[0]):]
		one := zk.ACL{Scheme: found[1], ID: found[2]}
		if one.Scheme == "digest" {
			one.ID = strings.ReplaceAll(one.ID, " ", "+") // a plus sign in a URL becomes a space
			if !digestID.MatchString(one.ID) {
				return nil, false // with a password instead of its hash nobody could log in
			}
		}
		for _, letter := range found[3] {
			one.Perms |= permLetters[letter]
		}
		all = append(all, one)
	}
	return all, true
}
