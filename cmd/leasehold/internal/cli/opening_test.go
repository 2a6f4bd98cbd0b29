//go:build unix

package cli

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

func TestSignalIsNotKeptWaitingByAnEngineThatNeverOpens(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal, 1)
	signals <- unix.SIGINT
	a := new(app)
	_, err := unlessSignaled(a, signals, func() (*session, error) { select {} })
	if coded, ok := errors.AsType[*exit.Error](err); !ok || coded.Code != 130 || coded.Err != nil || !a.interrupted {
		t.Errorf("%v, interrupted %v", err, a.interrupted)
	}
}
