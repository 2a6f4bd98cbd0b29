package redisfence

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/fence"
)

var errAnswer = fmt.Errorf("redisfence: %w: the server answered something that the script does not: look at what stands between it and this program", fence.ErrUnknown)

// explain tells answers of the server, after which nothing has been done or a script has failed, and requests that have found no server, from missing answers.
func explain(err error) error {
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
		return 0, errAnswer
	}
	return token, nil
}

// text makes a string of an answer.
func text(answer any, err error) (string, error) {
	if err != nil {
		return "", err
	}
	s, ok := answer.(string)
	if !ok {
		return "", errAnswer
	}
	return s, nil
}
