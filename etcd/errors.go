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
	errClosed  = driver.Permanent(errors.New("the etcd engine has been closed: open another one"))
	errLate    = driver.NoEffect(errors.New("etcd: sessions are renewed too slowly for this ttl: look at the load of the cluster, or use a longer ttl"))
	errTerm    = driver.NoEffect(errors.New("etcd: a session was renewed by a member that no longer leads: try again"))
	errBusy    = driver.NoEffect(errors.New("etcd: the places of the name changed with each try: try again"))
	errEnding  = driver.NoEffect(errors.New("etcd: the lease has just run out: try again"))
	errEnded   = errors.New("etcd: the answer came when the lease had run out: try again, or use a longer ttl")
	errSession = errors.New("etcd: the session is gone")
	errChanged = errors.New("etcd: the place was changed meanwhile")
)

// effect is what an answer says about the effect of a request.
type effect int

const (
	none    effect = iota // it was given before anything was changed
	always                // and will come again
	unknown               // it may have come with the change
)

// remedies are what can be done about answers of a server.
var remedies = []struct {
	answer error
	mend   string
	effect effect
}{
	{rpctypes.ErrNoSpace, "the database is full, so no lock can be taken: compact it and defragment it, or raise --quota-backend-bytes, then disarm the alarm (etcdctl alarm disarm)", unknown}, // the write that fills it is done, and answered so
	{rpctypes.ErrTooManyRequests, "the cluster lags behind: try again, and look at its disks", none},
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

// explain makes an answer of the contract from an error of the client. What is sure to have had no effect is marked, and everything else is
// unknown: the request may have reached the leader although its member, or the connection to it, failed.
func explain(err error) error {
	if err == nil || driver.HadNoEffect(err) || errors.Is(err, errSession) {
		return err
	}
	for _, r := range remedies {
		if strings.Contains(err.Error(), rpctypes.ErrorDesc(r.answer)) {
			err = fmt.Errorf("etcd: %w: %s", err, r.mend)
			switch r.effect {
			case always:
				return driver.Permanent(err)
			case none:
				return driver.NoEffect(err)
			}
			return err
		}
	}
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case strings.Contains(err.Error(), "authentication handshake failed") || strings.Contains(err.Error(), "server preface"):
		return fmt.Errorf("etcd: %w: look whether the member hangs, and check that the URL says etcds:// for servers with TLS and etcd:// for those without, and the certificates", err)
	}
	return fmt.Errorf("etcd: %w", err)
}

// unsent marks the error of a context that ended before anything was sent, or while nothing was under way.
func unsent(ctx context.Context) error { return driver.NoEffect(ctx.Err()) }

// unsure is an error without its mark that there was no effect.
type unsure struct{ error }

// Is lets errors.Is see what the error is, but nobody the mark.
func (u unsure) Is(target error) bool { return errors.Is(u.error, target) }

// noEffect marks an error of a request that can only read.
func noEffect(err error) error {
	if err == nil || driver.HadNoEffect(err) {
		return err
	}
	return driver.NoEffect(err)
}
