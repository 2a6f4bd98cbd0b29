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

// withheldVariable tells a leasehold inside of CMD which variables were changed or removed.
const withheldVariable = "LEASEHOLD_WITHHELD"

// passwordVariable matches variables that hold nothing but the password of an engine.
var passwordVariable = regexp.MustCompile(`^LEASEHOLD_[A-Z_]*PASSWORD$`)

// passwordFileVariable matches variables that name a file with such a password. By mistake, they may hold the password
// itself.
var passwordFileVariable = regexp.MustCompile(`^LEASEHOLD_[A-Z_]*PASSWORD_FILE$`)

// environment returns the environment of CMD: that of this process, without the passwords of the engine, and the facts
// about the lease. It does not contain the owner's secret. url is that of the engine.
func (j job) environment(l *leasehold.Lease, url string) ([]string, error) {
	encoded, err := j.encodeHeld(l)
	if err != nil {
		return nil, err
	}
	own := []string{
		heldVariable + "=" + encoded,
		"LEASEHOLD_NAME=" + j.name,
		"LEASEHOLD_TOKEN=" + strconv.FormatUint(l.Token(), 10),
		"LEASEHOLD_DEADLINE_UNIX_MS=" + strconv.FormatInt(l.Deadline().UnixMilli(), 10),
		"LEASEHOLD_TTL_MS=" + strconv.FormatInt(time.Duration(j.ttl).Milliseconds(), 10),
	}
	outer := os.Environ()
	if j.tick.IsZero() { // that of a run around this one is not ours
		outer = slices.DeleteFunc(outer, func(set string) bool { return strings.HasPrefix(set, tickVariable+"=") })
	} else {
		own = append(own, tickVariable+"="+j.tick.String())
	}
	if j.passEngine {
		own = append(own, config.EngineVariable+"="+url)
	} else {
		var kept []string
		if outer, kept = withhold(outer, url); len(kept) > 0 {
			own = append(own, withheldVariable+"="+strings.Join(kept, " "))
		}
	}
	// A nested run must not leave two values of one variable.
	outer = slices.DeleteFunc(outer, func(set string) bool {
		return slices.ContainsFunc(own, func(mine string) bool {
			variable, _, _ := strings.Cut(mine, "=")
			return strings.HasPrefix(set, variable+"=")
		})
	})
	return append(outer, own...), nil
}

// withhold removes the engine's passwords from an environment, and returns the names of the variables that had one. The
// address of the engine stays, so that a leasehold inside of CMD does not use another engine: it fails if it needs the
// password.
func withhold(environment []string, url string) (rest, kept []string) {
	for _, set := range environment {
		name, value, _ := strings.Cut(set, "=")
		switch {
		case name == config.EngineVariable:
			stripped, had := engine.WithoutPassword(value)
			if set = name + "=" + stripped; had {
				kept = append(kept, name)
			}
		case passwordFileVariable.MatchString(name) && engine.HoldsPassword(value), passwordVariable.MatchString(name),
			engine.IsPostgres(url) && (name == "PGPASSWORD" || name == "PGSSLPASSWORD"):
			kept = append(kept, name)
			continue
		}
		rest = append(rest, set)
	}
	return rest, kept
}

// withheldHint returns a text to add to the reason why an engine cannot be used, if an enclosing run may be the cause.
func withheldHint(getenv func(string) string) string {
	if names := getenv(withheldVariable); names != "" {
		return "; the run around this one has kept a password to itself (" + names +
			"): say --pass-engine there if this one needs it"
	}
	return ""
}
