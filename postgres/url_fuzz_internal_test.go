package postgres

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/urlfuzz"
)

// However a URL is malformed, the error does not show the password.
func FuzzURLs(f *testing.F) {
	urlfuzz.Run(f, []string{"postgres://", "postgresql://", "postgres:", ""}, "password", func(raw string) error {
		_, err := parseURL(raw)
		return err
	})
}
