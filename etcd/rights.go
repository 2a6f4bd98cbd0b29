package etcd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// RightsError reports that the cluster refused a request because no role of the user has a right that the request
// needs. It is marked with [driver.Permanent].
type RightsError struct {
	// Missing lists the rights, each with what the keys begin with, such as "write leasehold/session/".
	Missing []string
	cause   error
}

// Error implements error. The text says what to do.
func (e *RightsError) Error() string {
	grants := make([]string, len(e.Missing))
	for i, right := range e.Missing {
		grants[i] = "etcdctl role grant-permission ROLE --prefix=true " + right
	}
	return fmt.Sprintf("etcd: this user lacks the right to %s: give it to a role of the user (%s), "+
		"or log in as another one; see the smallest rights in docs/engines/etcd.md",
		strings.Join(e.Missing, " and to "), strings.Join(grants, "; "))
}

// Unwrap returns the server's error.
func (e *RightsError) Unwrap() error { return e.cause }

// need is a right on a range of keys.
type need struct {
	write    bool
	from, to string // to is empty for a single key
}

// String returns the right as [RightsError] shows it: for what precedes the zero byte of an entry's key, or the ID of a
// session.
func (n need) String() string {
	begin, _, _ := strings.Cut(n.from, "\x00")
	if i := strings.LastIndex(begin, sessionPrefix); i >= 0 && !strings.Contains(begin[i+len(sessionPrefix):], "/") {
		begin = begin[:i+len(sessionPrefix)]
	}
	if n.write {
		return "write " + begin
	}
	return "read " + begin
}

// needsFor returns the rights that a transaction takes.
func needsFor(cmps []*pb.Compare, branches ...[]*pb.RequestOp) (all []need) {
	for _, c := range cmps {
		all = append(all, need{false, string(c.Key), string(c.RangeEnd)})
	}
	for _, op := range slices.Concat(branches...) {
		switch {
		case op.GetRequestRange() != nil:
			all = append(all, need{false, string(op.GetRequestRange().Key), string(op.GetRequestRange().RangeEnd)})
		case op.GetRequestPut() != nil:
			all = append(all, need{true, string(op.GetRequestPut().Key), ""})
		case op.GetRequestDeleteRange() != nil:
			removal := op.GetRequestDeleteRange()
			all = append(all, need{true, string(removal.Key), string(removal.RangeEnd)})
		case op.GetRequestTxn() != nil:
			t := op.GetRequestTxn()
			all = append(all, needsFor(t.Compare, t.Success, t.Failure)...)
		}
	}
	return all
}

// isDenied reports whether a server has refused something for lack of a right.
func isDenied(err error) bool {
	return err != nil && strings.Contains(err.Error(), rpctypes.ErrorDesc(rpctypes.ErrPermissionDenied))
}

// explainMissingRight turns a refusal for lack of a right into an error that names the right. All other errors stay as
// they are. The server does not name it, so each right is tested by a transaction that does nothing.
func (e *Engine) explainMissingRight(ctx context.Context, err error, needs func() []need) error {
	if !isDenied(err) {
		return err
	}
	var missing, all []string
	for _, n := range needs() {
		right := n.String()
		if slices.Contains(all, right) {
			continue
		}
		all = append(all, right)
		if _, err := e.kv.Txn(ctx, &pb.TxnRequest{Failure: ops(n.never())}); isDenied(clientv3.ContextError(ctx, err)) {
			missing = append(missing, right)
		}
	}
	if len(missing) == 0 { // no answer, or the right has just been given
		missing = all
	}
	return driver.Permanent(&RightsError{missing, err})
}

// never returns an operation that takes the right, for the branch of a transaction that is not taken.
func (n need) never() *pb.RequestOp {
	if n.write {
		removal := &pb.DeleteRangeRequest{Key: []byte(n.from), RangeEnd: []byte(n.to)}
		return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: removal}}
	}
	return opRange(keyRange{n.from, n.to})
}
