package redis

import (
	"net/url"
	"strings"
)

// Environment variables that say what the URL given to [Open] leaves out, so that no file and no command line
// needs to hold a password. What the URL does say counts.
const (
	EnvUser             = "LEASEHOLD_REDIS_USER"
	EnvPassword         = "LEASEHOLD_REDIS_PASSWORD"
	EnvSentinelUser     = "LEASEHOLD_REDIS_SENTINEL_USER"
	EnvSentinelPassword = "LEASEHOLD_REDIS_SENTINEL_PASSWORD"
)

func (t *target) setUser(info string) error {
	user, password, _ := strings.Cut(info, ":")
	var err error
	if t.user, err = url.PathUnescape(user); err == nil {
		t.password, err = url.PathUnescape(password)
	}
	if err != nil { // which quotes it
		return &URLError{Part: "user name or password", Allowed: "percent-encoded: a % in it is written as %25"}
	}
	return nil
}

// fillIn takes from the environment what the URL does not say.
func (t *target) fillIn(getenv func(string) string) {
	set := func(value *string, variable string) {
		if *value == "" {
			*value = getenv(variable)
		}
	}
	set(&t.user, EnvUser)
	set(&t.password, EnvPassword)
	if t.shape == behindSentinels {
		set(&t.sentinelUser, EnvSentinelUser)
		set(&t.sentinelPassword, EnvSentinelPassword)
	}
}
