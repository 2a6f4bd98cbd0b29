package redisson_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// withoutTokens are the checks that look for tokens or for texts about holders on the server: Plain and Spin write what
// RLock writes, and nothing else.
var withoutTokens = func() map[string]string {
	const (
		tokens = "the tokens are the client's clock: a take that is repeated gets another one"
		listed = "the server knows neither token nor text of a holder"
		forced = "the server knows no token: a forced release is of token 0"
	)
	return map[string]string{
		"Exclusion/TakeAgainAnswersTheSame": tokens,
		"Queue/WaitByTheHolder":             tokens,
		"Unknown/TakeIsRepeated":            tokens,
		"Tokens/RangesDoNotOverlap":         "a range of the client's clock may last longer than its hold",
		"Listing/ListShowsAHolder":          listed,
		"Names/HolderTexts":                 listed,
		"Force/ForceReleaseFrees":           forced,
		"Force/ForceReleaseLetsTheNextIn":   forced,
		"Force/ForceReleaseNeedsTheToken":   forced,
		"Force/ForceReleaseOfAKeptLock":     forced,
	}
}()

func TestPlainContractOnOneServer(t *testing.T) {
	t.Parallel()
	suiteWithout(t, withoutTokens, standalone(redisserver.ForTest(t, redisserver.Config{})), nil,
		redisson.WithLock(redisson.Plain))
}

func TestSpinContractOnOneServer(t *testing.T) {
	t.Parallel()
	suiteWithout(t, withoutTokens, standalone(redisserver.ForTest(t, redisserver.Config{})), nil,
		redisson.WithLock(redisson.Spin))
}
