package redis

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/urlfuzz"
)

// However a URL is broken, no error contains its password.
func FuzzURLs(f *testing.F) {
	urlfuzz.Run(f, []string{"redis://", "rediss://", "redis+unix://", "redis+sentinel://", "redis+cluster://",
		"REDIS://", ""}, "sentinel_password", func(raw string) error {
		_, err := parseURL(raw, noEnvironment)
		return err
	})
}
