package zookeeper

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/urlfuzz"
)

// However malformed a URL is, no error shows its password.
func FuzzURLs(f *testing.F) {
	urlfuzz.Run(f, []string{"zookeeper://", "zookeepers://", "zookeeper:", ""}, "password", func(raw string) error {
		_, err := parseURL(raw, func(string) string { return "" })
		return err
	})
}
