package redis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// A marker that another program has written opens nothing, unless it says that this very server is open or has waited
// for long enough. And no marker closes a server for ever.
func FuzzMarkers(f *testing.F) {
	s := redisserver.ForTest(f, redisserver.Config{})
	const longest, key = time.Minute, "{lock:}:guard"
	digits := strings.Repeat("9", 25)
	for _, raw := range []string{
		"", "me", "you open 1 1 -", "me open 1 60000 -", "me other 1 60000 -", "me other " + digits + " 60000 -",
		"me other " + digits + " " + digits + " -", "me new 5 " + digits + " -",
		"me other " + strings.Repeat("9", 400) + " " + strings.Repeat("9", 400) + " -",
		"me open 1 " + digits + " - somebody", "you other 1 " + digits + " list", "me open -1 1 -", "me  1 1 -",
	} {
		f.Add(raw)
	}
	text := (&config{prefix: DefaultPrefix, maxTTL: longest}).newScriptSet("me", false).text[scriptGuard]
	f.Fuzz(func(t *testing.T, raw string) {
		if _, err := s.Command("SET", key, raw); err != nil {
			t.Fatal(err)
		}
		for range 2 { // what the first one leaves is read by the next
			reply, err := s.Command(append([]string{"EVAL", text, "1", key},
				asTexts((&config{maxTTL: longest}).guardArgs(-1))...)...)
			m, err := readMarkerReply(reply, err)
			if err != nil {
				t.Fatalf("%q: %v", raw, err)
			}
			if m.closedFor > longestTTL || m.closedFor == 0 && !strings.HasPrefix(raw, "me ") || m.closedFor == 0 &&
				strings.HasPrefix(raw, "me other "+digits+" ") {
				t.Fatalf("%q leaves grants closed for %v", raw, m.closedFor)
			}
		}
	})
}

func asTexts(args []any) (all []string) {
	for _, arg := range args {
		all = append(all, fmt.Sprint(arg))
	}
	return all
}
