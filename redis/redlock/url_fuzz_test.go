package redlock

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/urlfuzz"
	"github.com/leasehold-go/leasehold/redis"
)

// However a URL is broken, no error shows the password in it.
func FuzzURLs(f *testing.F) {
	urlfuzz.Run(f, []string{"redlock://", "redlocks://", "redlock:", ""}, "sentinel_password", func(raw string) error {
		parsed, err := parse(raw)
		if err != nil {
			return err
		}
		var engines []*redis.Engine
		engines, err = parsed.open() // which sends nothing
		_ = closeAll(engines)
		return err
	})
}
