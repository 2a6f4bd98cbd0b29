//go:build unix

package cli

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/config"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
)

// withheldVariable tells a leasehold inside of CMD which variables it does not find as they were.
const withheldVariable = "LEASEHOLD_WITHHELD"

// passwordVariable are those that hold a password for an engine of ours, and nothing else.
var passwordVariable = regexp.MustCompile(`^LEASEHOLD_[A-Z_]*PASSWORD$`)

// environment is what the program finds: what this process has found, without the passwords of the engine, and what there is to know of the lease. The owner's secret is not
// part of it. url is that of the engine.
func (j job) environment(l *leasehold.Lease, url string) ([]string, error) {
	told, err := j.told(l)
	if err != nil {
		return nil, err
	}
	own := []string{
		heldVariable + "=" + told,
		"LEASEHOLD_NAME=" + j.name,
		"LEASEHOLD_TOKEN=" + strconv.FormatUint(l.Token(), 10),
		"LEASEHOLD_DEADLINE_UNIX_MS=" + strconv.FormatInt(l.Deadline().UnixMilli(), 10),
		"LEASEHOLD_TTL_MS=" + strconv.FormatInt(time.Duration(j.ttl).Milliseconds(), 10),
	}
	outer := os.Environ()
	if j.passEngine {
		own = append(own, config.EngineVariable+"="+url)
	} else {
		var kept []string
		if outer, kept = withhold(outer, url); len(kept) > 0 {
			own = append(own, withheldVariable+"="+strings.Join(kept, " "))
		}
	}
	// A run inside of another one must not leave two values of one variable.
	outer = slices.DeleteFunc(outer, func(set string) bool {
		return slices.ContainsFunc(own, func(mine string) bool {
			variable, _, _ := strings.Cut(mine, "=")
			return strings.HasPrefix(set, variable+"=")
		})
	})
	return append(outer, own...), nil
}

// withhold takes the passwords of the engine out of an environment, and returns the names of variables that had one. Where the locks are stays, so that a leasehold inside of CMD
// uses no other engine; it fails if it needs the password.
func withhold(environment []string, url string) (rest, kept []string) {
	for _, set := range environment {
		name, value, _ := strings.Cut(set, "=")
		switch {
		case name == config.EngineVariable:
			stripped, had := engine.WithoutPassword(value)
			if set = name + "=" + stripped; had {
				kept = append(kept, name)
			}
		case passwordVariable.MatchString(name), engine.IsPostgres(url) && (name == "PGPASSWORD" || name == "PGSSLPASSWORD"):
			kept = append(kept, name)
			continue
		}
		rest = append(rest, set)
	}
	return rest, kept
}

// withheld is what to add to the reason why an engine cannot be used, if a run around this one may be why.
func withheld(getenv func(string) string) string {
	if names := getenv(withheldVariable); names != "" {
		return "; the run around this one has kept a password to itself (" + names + "): say --pass-engine there if this one needs it"
	}
	return ""
}
