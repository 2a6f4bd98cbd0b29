package redisfence

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/fence"
)

var errUnexpectedAnswer = fmt.Errorf("redisfence: %w: the server answered something that the script does not: "+
	"look at what stands between it and this program", fence.ErrUnknown)

// explainError makes ErrUnknown of a missing answer. Other errors mean that nothing was done, or that a
// script failed: those with which the server has answered, and those of requests that have reached no server.
func explainError(err error) error {
	if _, answered := errors.AsType[redis.Error](err); answered {
		return fmt.Errorf("redisfence: %w", err)
	}
	if op, failed := errors.AsType[*net.OpError](err); failed && op.Op == "dial" {
		return fmt.Errorf("redisfence: %w", err)
	}
	return fmt.Errorf("redisfence: %w: %w", fence.ErrUnknown, err)
}

func parseToken(v any) (uint64, error) {
	s, _ := v.(string)
	token, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, errUnexpectedAnswer
	}
	return token, nil
}

// textAnswer returns an answer that must be a string.
func textAnswer(answer any, err error) (string, error) {
	if err != nil {
		return "", err
	}
	s, ok := answer.(string)
	if !ok {
		return "", errUnexpectedAnswer
	}
	return s, nil
}
