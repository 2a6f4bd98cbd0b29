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

// judgeRights finds what the user may not do. What cannot be asked is not claimed.
func (e *Engine) judgeRights(ctx context.Context) []driver.Finding {
	f := &findings{}
	told := map[string]bool{}
	for _, kind := range []driver.Kind{driver.Lock, driver.Semaphore} {
		node, missing, err := e.lacks(ctx, e.base(kind))
		if err != nil || len(missing) == 0 || told[node] {
			continue
		}
		told[node] = true
		mayNot := fmt.Sprintf("the user may not %s nodes below %s", strings.Join(missing, " or "), node)
		give := "as somebody who may: setAcl " + node + " with the rights %s for this user, and all others who use it; or give the right user and password, or another prefix"
		switch strings.Join(missing, " ") {
		case "create delete":
			if !told[looksOnly] { // once for both kinds
				told[looksOnly] = true
				f.add(driver.Note, "rights-look", "", "the user may look, and may not lock. If it is meant for that, all is well", "nothing; or "+fmt.Sprintf(give, "cdrw"))
			}
		case "read":
			f.add(driver.Note, "rights-spare", "", mayNot+": locks work, and listings do not", "nothing; or "+fmt.Sprintf(give, "cdr"))
		default:
			f.add(driver.Critical, "rights", "", mayNot+": locks cannot be had, or not let go", fmt.Sprintf(give, "cdrw"))
		}
	}
	return f.all
}

// looksOnly is no node.
const looksOnly = "rights-look"

// lacks returns what the user may not do below the node of a kind. If there is none yet, it returns what he may not do below the nearest
// node above, where it would be created.
func (e *Engine) lacks(ctx context.Context, node string) (nearest string, missing []string, err error) {
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
	if _, err := e.client.children(ctx, node); forbidden(err) {
		missing = append(missing, "read")
	}
	// The last part is refused in any case, and so are those before it: the servers do all or nothing.
	probe := path.Join(node, "probe-"+rand.Text())
	never := &zk.CheckVersionRequest{Path: node, Version: math.MaxInt32}
	create := &zk.CreateRequest{Path: probe, Acl: e.acl, Flags: 0}
	at, err := e.client.multi(ctx, nil, create, &zk.DeleteRequest{Path: probe, Version: -1}, never)
	if forbidden(err) && at == 0 {
		missing = append(missing, "create")
		// There is no such node. The servers look at the rights first.
		at, err = e.client.multi(ctx, nil, &zk.DeleteRequest{Path: probe, Version: -1}, never)
		at++
	}
	if forbidden(err) && at == 1 {
		missing = append(missing, "delete")
	}
	return node, missing, nil
}
