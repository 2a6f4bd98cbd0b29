package redisurl

import (
	"strings"
	"testing"
)

// scanned returns whether a scanner accepts replies that arrive in pieces of some size, and whether it saw the end of
// the last one.
func scanned(text string, piece int) (accepted, ended bool) {
	var s replyScanner
	for len(text) > 0 {
		n := min(piece, len(text))
		if !s.scan([]byte(text[:n])) {
			return false, false
		}
		text = text[n:]
	}
	return true, len(s.missing) == 0 && s.skip == 0 && len(s.header) == 0 && s.size == 0 && s.total == 0
}

func TestRepliesOfServersAreAccepted(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		"+OK\r\n", "-ERR no\r\n", ":5\r\n", "$5\r\n$9\r\n1\r\n", "$0\r\n\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "_\r\n",
		"#t\r\n", ",1.5\r\n", "(99999999999999999999999999\r\n", "=7\r\ntxt:abc\r\n", "!3\r\nERR\r\n",
		"*2\r\n$2\r\n\n\n\r\n:1\r\n", "*2\r\n*1\r\n:1\r\n*2\r\n:1\r\n$-1\r\n",
		"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", "~1\r\n+a\r\n", ">3\r\n+message\r\n$1\r\nc\r\n$1\r\nm\r\n",
		"|1\r\n+ttl\r\n:5\r\n+OK\r\n", "*2\r\n|1\r\n+ttl\r\n:5\r\n+a\r\n+b\r\n",
		"+" + strings.Repeat("x", 100_000) + "\r\n", "$100000\r\n" + strings.Repeat("x", 100_000) + "\r\n",
	} {
		for _, piece := range []int{1, 2, 3, 7, 1 << 20} {
			for _, text := range []string{reply, reply + reply} {
				if accepted, ended := scanned(text, piece); !accepted || !ended {
					t.Errorf("%.40q in pieces of %d: accepted %t, ended %t", text, piece, accepted, ended)
				}
			}
		}
	}
}

func TestRepliesThatAreTooLargeAreRefused(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		"$2147483647\r\n", "!2147483647\r\n", "=2147483647\r\n", "*2147483647\r\n", "%2147483647\r\n",
		"~2147483647\r\n", ">2147483647\r\n", "|2147483647\r\n", "*99999999999999999999999\r\n",
		"$" + strings.Repeat("0", 40) + "2147483647\r\n", "*4194305\r\n", "%2097153\r\n", "*2\r\n*4194303\r\n",
		strings.Repeat("*1\r\n", maxReplyDepth+1), strings.Repeat("*2\r\n+a\r\n", maxReplyDepth+1),
		"*3\r\n$200000000\r\n" + strings.Repeat("x", 200_000_000) + "\r\n$100000000\r\n",
	} {
		for _, piece := range []int{1, 5, 1 << 30} {
			if len(reply) > 1<<20 && piece < 1<<20 {
				continue
			}
			if accepted, _ := scanned("+OK\r\n"+reply, piece); accepted {
				t.Errorf("%.40q in pieces of %d is accepted", reply, piece)
			}
		}
	}
}

// It does not matter in which pieces replies arrive.
func FuzzReplySizes(f *testing.F) {
	f.Add("*2\r\n$2\r\n\n\n\r\n:1\r\n", 3)
	f.Add("|1\r\n+a\r\n+b\r\n%1\r\n+a\r\n~0\r\n", 1)
	f.Add("*4194304\r\n*1\r\n", 2)
	f.Fuzz(func(t *testing.T, text string, piece int) {
		whole, wholeEnded := scanned(text, len(text)+1)
		if accepted, ended := scanned(text, max(piece, 1)); accepted != whole || ended != wholeEnded {
			t.Errorf("%q in pieces of %d: %t, %t, and as a whole %t, %t", text, piece, accepted, ended, whole,
				wholeEnded)
		}
	})
}

func BenchmarkReplySize(b *testing.B) {
	var s replyScanner
	reply := []byte("*4\r\n:1\r\n:1795446207074930\r\n$20\r\nabcdefghijklmnopqrst\r\n:30000\r\n")
	for b.Loop() {
		s.scan(reply)
	}
}
