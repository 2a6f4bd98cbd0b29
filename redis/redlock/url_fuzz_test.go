package redlock

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/urlfuzz"
	"github.com/leasehold-go/leasehold/redis"
)

// However a URL is broken, nobody is told of the password in it.
func FuzzURLs(f *testing.F) {
	urlfuzz.Run(f, []string{"redlock://", "redlocks://", "redlock:", ""}, "sentinel_password", func(raw string) error {
		said, err := parse(raw)
		if err != nil {
			return err
		}
		var engines []*redis.Engine
		engines, err = said.open() // which asks nobody
		_ = closeAll(engines)
		return err
	})
}
