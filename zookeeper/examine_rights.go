package zookeeper

import (
	"context"
	"crypto/rand"
	"errors"
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
		f.add(driver.Critical, "rights", "",
			fmt.Sprintf("the user may not %s nodes below %s: locks cannot be had, or not let go", strings.Join(missing, " or "), node),
			"as somebody who may: setAcl "+node+" with the rights cdrw for this user, and all others who use it; or give the right user and password, or another prefix")
	}
	return f.all
}

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
	at, err := e.client.multi(ctx, nil,
		&zk.CreateRequest{Path: probe, Acl: e.acl, Flags: 0},
		&zk.DeleteRequest{Path: probe, Version: -1},
		&zk.CheckVersionRequest{Path: node, Version: math.MaxInt32})
	if forbidden(err) && at >= 0 && at < 2 {
		missing = append(missing, []string{"create", "delete"}[at])
	}
	return node, missing, nil
}

func forbidden(err error) bool { return errors.Is(err, zk.ErrNoAuth) }
