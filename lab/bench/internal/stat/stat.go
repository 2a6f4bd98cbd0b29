// Package stat holds the arithmetic of the benchmark.
package stat

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"
)

// Number is a float64 that JSON can always represent: NaN becomes null, and infinity "+Inf" or
// "-Inf".
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	switch f := float64(n); {
	case math.IsNaN(f):
		return []byte("null"), nil
	case math.IsInf(f, 0):
		return json.Marshal(strconv.FormatFloat(f, 'g', -1, 64))
	default:
		return json.Marshal(f)
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "null":
		*n = Number(math.NaN())
	case `"+Inf"`:
		*n = Number(math.Inf(1))
	case `"-Inf"`:
		*n = Number(math.Inf(-1))
	default:
		return json.Unmarshal(text, (*float64)(n))
	}
	return nil
}

// Summary is one figure over all rounds.
type Summary struct {
	Median Number   `json:"median"`
	Low    Number   `json:"low"`
	High   Number   `json:"high"`
	Rounds []Number `json:"rounds"`
}

// Summarize returns the median and the range of the values, which are in the order of the rounds.
// Without values, the Summary holds NaN.
func Summarize(values []float64) Summary {
	s := Summary{Median: Number(math.NaN()), Low: Number(math.NaN()), High: Number(math.NaN())}
	if len(values) == 0 {
		return s
	}
	for _, v := range values {
		s.Rounds = append(s.Rounds, Number(v))
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	s.Low, s.High = Number(sorted[0]), Number(sorted[len(sorted)-1])
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		s.Median = Number(sorted[middle])
	} else {
		s.Median = Number((sorted[middle-1] + sorted[middle]) / 2)
	}
	return s
}

// Many is the number of rounds from which on the spread is that of the middle half.
const Many = 8

// Spread returns the range in which most rounds lie: the middle half if there are Many or more,
// otherwise all.
func (s Summary) Spread() (low, high float64) {
	n := len(s.Rounds)
	if n < Many {
		return float64(s.Low), float64(s.High)
	}
	sorted := slices.Sorted(slices.Values(s.Rounds))
	return float64(sorted[n/4]), float64(sorted[n-1-n/4])
}

// Ratio divides two figures round by round. Rounds that run next to each other share the state of
// the machine, so their ratio varies less than that of the medians.
func Ratio(over, under Summary) Summary {
	var values []float64
	for i := range min(len(over.Rounds), len(under.Rounds)) {
		values = append(values, float64(over.Rounds[i])/float64(under.Rounds[i]))
	}
	return Summarize(values)
}

// Largest returns, round by round, the largest of the figures.
func Largest(figures ...Summary) Summary {
	var values []float64
	for _, f := range figures {
		for i, v := range f.Rounds {
			if i == len(values) {
				values = append(values, float64(v))
			}
			values[i] = max(values[i], float64(v))
		}
	}
	return Summarize(values)
}

// Percentile returns the smallest duration that at least the part p (0 to 1) of all durations do
// not exceed. It sorts durations. It returns 0 if there are none.
func Percentile(durations []time.Duration, p float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	slices.Sort(durations)
	rank := int(math.Ceil(p * float64(len(durations))))
	return durations[min(max(rank, 1), len(durations))-1]
}

// Fairness returns the most and the fewest turns of any waiter, and their ratio: infinite if a
// waiter had none.
func Fairness(turns []int) (most, fewest int, ratio float64) {
	if len(turns) == 0 {
		return 0, 0, math.NaN()
	}
	most, fewest = slices.Max(turns), slices.Min(turns)
	if fewest == 0 {
		return most, fewest, math.Inf(1)
	}
	return most, fewest, float64(most) / float64(fewest)
}
