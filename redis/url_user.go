package redis

import (
	"fmt"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// Environment variables for what the URL given to [Open] leaves out, so that no file or command line needs to hold a
// password. What the URL says takes precedence. Instead of a password, a variable of the same name with _FILE appended
// may name a file that holds it, on one line.
const (
	EnvUser             = "LEASEHOLD_REDIS_USER"
	EnvPassword         = "LEASEHOLD_REDIS_PASSWORD"
	EnvSentinelUser     = "LEASEHOLD_REDIS_SENTINEL_USER"
	EnvSentinelPassword = "LEASEHOLD_REDIS_SENTINEL_PASSWORD"
)

// fillIn takes from the environment what the URL leaves out.
func (t *target) fillIn(getenv func(string) string) (err error) {
	set := func(value *string, variable string) {
		if *value == "" && err == nil {
			*value, err = engineurl.Secret(getenv, variable)
		}
	}
	set(&t.user, EnvUser)
	set(&t.password, EnvPassword)
	if t.shape == behindSentinels {
		set(&t.sentinelUser, EnvSentinelUser)
		set(&t.sentinelPassword, EnvSentinelPassword)
	}
	if err != nil {
		return fmt.Errorf("redis engine: %w", err)
	}
	return nil
}
