package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/leasehold-go/leasehold/driver"
)

var (
	errClosed = driver.Permanent(errors.New("the etcd engine has been closed: open another one"))
	errLate   = driver.NoEffect(errors.New("etcd: sessions are renewed too slowly for this ttl: " +
		"check the load of the cluster, or use a longer ttl"))
	errOldLeader = driver.NoEffect(errors.New(
		"etcd: a session was renewed by a member that no longer leads: try again"))
	errBusy             = driver.NoEffect(errors.New("etcd: the queue of the name changed with each try: try again"))
	errJustExpired      = driver.NoEffect(errors.New("etcd: the lease has just expired: try again"))
	errExpiredMeanwhile = errors.New(
		"etcd: the answer came after the lease had expired: try again, or use a longer ttl")
	errSession = errors.New("etcd: the session is gone")
	errChanged = errors.New("etcd: the entry was changed meanwhile")
)

// effect is what an answer says about the effect of a request.
type effect int

const (
	none    effect = iota // the request has changed nothing
	always                // no effect, and a repetition gets the same answer
	unknown               // the request may have had its effect all the same
)

// fixes says what to do about answers of a server.
var fixes = []struct {
	answer error
	fix    string
	effect effect
}{
	// The write that fills the database is done although its answer is ErrNoSpace.
	{rpctypes.ErrNoSpace, "the database is full, so no lock can be taken: compact it and defragment it, " +
		"or raise --quota-backend-bytes, then disarm the alarm (etcdctl alarm disarm)", unknown},
	{rpctypes.ErrTooManyRequests, "the cluster lags behind: try again, and check its disks", none},
	{rpctypes.ErrPermissionDenied, "see the smallest rights in docs/engines/etcd.md", always},
	{rpctypes.ErrUserEmpty, "the cluster wants to know who asks: give user and password", always},
	{rpctypes.ErrAuthFailed, "give the right user and password", always},
	{rpctypes.ErrInvalidAuthToken, "the login has expired: give the client user and password, not a token", always},
	{rpctypes.ErrAuthOldRevision, "users or roles were changed at the same moment: try again", none},
	{rpctypes.ErrTooManyOps, "leave --max-txn-ops of the servers at 128 or more", always},
	{rpctypes.ErrRequestTooLarge, "leave --max-request-bytes of the servers at its default, or more", always},
	{rpctypes.ErrLeaseTTLTooLarge, "use a shorter ttl", always},
	{rpctypes.ErrGRPCNotSupportedForLearner, "the member is a learner: name members that vote", none},
}

// explain turns an error of the client into one of the driver contract. It marks errors of requests that certainly had
// no effect. The effect of all others is unknown: the request may have reached the leader although the member, or the
// connection to it, failed.
func explain(err error) error {
	if err == nil || driver.HadNoEffect(err) || errors.Is(err, errSession) {
		return err
	}
	for _, r := range fixes {
		if strings.Contains(err.Error(), rpctypes.ErrorDesc(r.answer)) {
			err = fmt.Errorf("etcd: %w: %s", err, r.fix)
			switch r.effect {
			case always:
				return driver.Permanent(err)
			case none:
				return driver.NoEffect(err)
			}
			return err
		}
	}
	if wrong := mismatchIn(err.Error()); wrong != "" {
		return fmt.Errorf("etcd: %w", &mismatchError{wrong, err})
	}
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case strings.Contains(err.Error(), "authentication handshake failed"),
		strings.Contains(err.Error(), "server preface"):
		return fmt.Errorf("etcd: %w: find out whether the member hangs, and check that the URL says etcds:// "+
			"for servers with TLS and etcd:// for those without, and the certificates", err)
	}
	return fmt.Errorf("etcd: %w", err)
}

// notSent marks the error of a context that ended before anything was sent, or while no request was in flight.
func notSent(ctx context.Context) error { return driver.NoEffect(ctx.Err()) }

// unmarked hides the mark that says that a request had no effect.
type unmarked struct{ error }

// Is lets errors.Is find the error, but not the mark.
func (u unmarked) Is(target error) bool { return errors.Is(u.error, target) }

// noEffect marks an error of a request that only reads.
func noEffect(err error) error {
	if err == nil || driver.HadNoEffect(err) {
		return err
	}
	return driver.NoEffect(err)
}
