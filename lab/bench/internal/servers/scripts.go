package servers

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Scripts says how long scripts ran on a server: with time for which its processor ran something else.
type Scripts struct {
	Calls float64
	Mean  time.Duration
	// Long is the part of them that took longer than LongScript. It is NaN if the server does not tell.
	Long float64
	// Longest is that of the longest command of any kind.
	Longest time.Duration
}

// LongScript is the bound of one of the server's classes of durations that is closest to a millisecond.
const LongScript = 1056 * time.Microsecond

// Scripts returns how long the scripts ran that the server ran for any client during f. It resets the server's
// statistics of commands.
func (r *Redis) Scripts(ctx context.Context, f func() error) (s Scripts, err error) {
	s.Longest, err = r.Longest(ctx, func() error {
		if err := r.client.ConfigResetStat(ctx).Err(); err != nil {
			return err
		}
		return f()
	})
	if err != nil {
		return s, err
	}
	info, err := r.info(ctx, "commandstats")
	if err != nil {
		return s, err
	}
	for part := range strings.SplitSeq(info["cmdstat_evalsha"], ",") {
		field, value, _ := strings.Cut(part, "=")
		n, err := strconv.ParseFloat(value, 64)
		switch {
		case field == "calls" && err == nil:
			s.Calls = n
		case field == "usec_per_call" && err == nil:
			s.Mean = time.Duration(n * float64(time.Microsecond))
		}
	}
	s.Long = math.NaN()
	answer, err := r.client.Do(ctx, "LATENCY", "HISTOGRAM", "evalsha").Result()
	if err != nil {
		return s, nil // Redis 6 has no histograms
	}
	if within, ok := within(answer, LongScript); ok && s.Calls > 0 {
		s.Long = max(s.Calls-within, 0) / s.Calls
	}
	return s, nil
}

// within returns how many calls took at most d, according to an answer to LATENCY HISTOGRAM.
func within(answer any, d time.Duration) (calls float64, ok bool) {
	fields := pairsOf(pairsOf(answer)["evalsha"])
	for bound, n := range pairsOf(fields["histogram_usec"]) {
		us, err := strconv.ParseFloat(bound, 64)
		if count, isNumber := n.(int64); err == nil && isNumber && us <= float64(d.Microseconds()) {
			calls, ok = max(calls, float64(count)), true
		}
	}
	return calls, ok
}

// pairsOf returns what an answer maps, which is a list of keys and values in the older protocol.
func pairsOf(answer any) map[string]any {
	all := map[string]any{}
	switch answer := answer.(type) {
	case map[any]any:
		for key, value := range answer {
			all[fmt.Sprint(key)] = value
		}
	case []any:
		for i := 0; i+1 < len(answer); i += 2 {
			all[fmt.Sprint(answer[i])] = answer[i+1]
		}
	}
	return all
}
