package zookeeper

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// judgeRights finds rights that the user lacks. It reports nothing that it could not find out.
func (e *Engine) judgeRights(ctx context.Context) []driver.Finding {
	f := &findings{}
	told := map[string]bool{}
	for _, kind := range []driver.Kind{driver.Lock, driver.Semaphore} {
		node, missing, err := e.missingRights(ctx, e.kindNode(kind))
		if err != nil || len(missing) == 0 || told[node] {
			continue
		}
		told[node] = true
		mayNot := fmt.Sprintf("the user may not %s nodes below %s", strings.Join(missing, " or "), node)
		give := "as somebody who may: setAcl " + node + " with the rights %s for this user, " +
			"and all others who use it; or give the right user and password, or another prefix"
		switch strings.Join(missing, " ") {
		case "create delete":
			if !told[readOnlyCode] { // once for both kinds
				told[readOnlyCode] = true
				f.add(driver.Note, "rights-look", "",
					"the user can list locks, but cannot take any. That is fine if it is intended",
					"nothing; or "+fmt.Sprintf(give, "cdrw"))
			}
		case "read":
			f.add(driver.Note, "rights-spare", "", mayNot+": locks work, and listings do not",
				"nothing; or "+fmt.Sprintf(give, "cdr"))
		default:
			f.add(driver.Critical, "rights", "", mayNot+": locks cannot be granted, or not be released",
				fmt.Sprintf(give, "cdrw"))
		}
	}
	return f.all
}

// readOnlyCode is a key of told that is no node.
const readOnlyCode = "rights-look"

// missingRights returns the rights that the user lacks below the node of a kind. If that node does not exist yet, it
// returns those that he lacks below the nearest existing node above, where it would be created.
func (e *Engine) missingRights(ctx context.Context, node string) (nearest string, missing []string, err error) {
	for ; ; node = path.Dir(node) {
		stat, err := e.client.exists(ctx, node)
		if err != nil {
			return "", nil, err
		}
		if stat == nil && node != "/" {
			continue
		}
		if stat == nil {
			return "", nil, zk.ErrNoNode
		}
		break
	}
	if _, err := e.client.children(ctx, node); isForbidden(err) {
		missing = append(missing, "read")
	}
	// The last operation is always refused, and so nothing is done: the servers do all operations or none.
	probe := path.Join(node, "probe-"+rand.Text())
	never := &zk.CheckVersionRequest{Path: node, Version: math.MaxInt32}
	create := &zk.CreateRequest{Path: probe, Acl: e.acl, Flags: 0}
	at, err := e.client.multi(ctx, nil, create, &zk.DeleteRequest{Path: probe, Version: -1}, never)
	if isForbidden(err) && at == 0 {
		missing = append(missing, "create")
		// The node does not exist. The servers check rights first.
		at, err = e.client.multi(ctx, nil, &zk.DeleteRequest{Path: probe, Version: -1}, never)
		at++
	}
	if isForbidden(err) && at == 1 {
		missing = append(missing, "delete")
	}
	return node, missing, nil
}
