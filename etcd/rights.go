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

// RightsError is why a request was refused for good: no role of the user has a right on some keys. It is marked with [driver.Permanent].
type RightsError struct {
	// Missing are the rights, each with what the keys begin with: "write leasehold/session/".
	Missing []string
	cause   error
}

// Error implements error. It says what to do.
func (e *RightsError) Error() string {
	grants := make([]string, len(e.Missing))
	for i, right := range e.Missing {
		grants[i] = "etcdctl role grant-permission ROLE --prefix=true " + right
	}
	return fmt.Sprintf("etcd: this user lacks the right to %s: give it to a role of the user (%s), or log in as another one; see the smallest rights in docs/engines/etcd.md",
		strings.Join(e.Missing, " and to "), strings.Join(grants, "; "))
}

// Unwrap returns what the server has said.
func (e *RightsError) Unwrap() error { return e.cause }

// need is a right on keys.
type need struct {
	write    bool
	from, to string // to is empty for one key
}

// String is the right as [RightsError] has it: on what stands before the zero byte, or for sessions before their number.
func (n need) String() string {
	stem, _, _ := strings.Cut(n.from, "\x00")
	if i := strings.LastIndex(stem, sessionStem); i >= 0 && !strings.Contains(stem[i+len(sessionStem):], "/") {
		stem = stem[:i+len(sessionStem)]
	}
	if n.write {
		return "write " + stem
	}
	return "read " + stem
}

// needsOf are the rights that a transaction takes.
func needsOf(cmps []*pb.Compare, branches ...[]*pb.RequestOp) (all []need) {
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
			all = append(all, need{true, string(op.GetRequestDeleteRange().Key), string(op.GetRequestDeleteRange().RangeEnd)})
		case op.GetRequestTxn() != nil:
			t := op.GetRequestTxn()
			all = append(all, needsOf(t.Compare, t.Success, t.Failure)...)
		}
	}
	return all
}

// denied reports whether a server has refused something for lack of a right.
func denied(err error) bool {
	return err != nil && strings.Contains(err.Error(), rpctypes.ErrorDesc(rpctypes.ErrPermissionDenied))
}

// lacking makes an error of a refusal for lack of a right that says which. All other errors stay as they are. The server does not say it, so it is asked
// for each by a transaction that does nothing.
func (e *Engine) lacking(ctx context.Context, err error, needs func() []need) error {
	if !denied(err) {
		return err
	}
	var missing, all []string
	for _, n := range needs() {
		right := n.String()
		if slices.Contains(all, right) {
			continue
		}
		all = append(all, right)
		if _, err := e.kv.Txn(ctx, &pb.TxnRequest{Failure: ops(n.never())}); denied(clientv3.ContextError(ctx, err)) {
			missing = append(missing, right)
		}
	}
	if len(missing) == 0 { // there was no answer, or the right has just been given
		missing = all
	}
	return driver.Permanent(&RightsError{missing, err})
}

// never is what takes the right, for a branch of a transaction that is not taken.
func (n need) never() *pb.RequestOp {
	if n.write {
		return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(n.from), RangeEnd: []byte(n.to)}}}
	}
	return opRange(span{n.from, n.to})
}
