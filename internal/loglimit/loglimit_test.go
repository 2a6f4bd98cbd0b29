package loglimit

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// output keeps what a log has written.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(line)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// record returns a log and what it writes.
func record(level slog.Level) (*Log, *output) {
	out := new(output)
	return New(slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}))), out
}

// expectLines checks how many lines contain a text.
func expectLines(t *testing.T, out *output, text string, want int) {
	t.Helper()
	if n := strings.Count(out.String(), text); n != want {
		t.Errorf("%d lines with %q, want %d", n, text, want)
	}
}

func TestEachMessageIsCountedByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, out := record(slog.LevelInfo)
		for range MaxLines + 5 {
			l.Write(slog.LevelWarn, "often", "n", 1)
		}
		l.Write(slog.LevelError, "rare")
		expectLines(t, out, "msg=often", MaxLines)
		expectLines(t, out, "level=ERROR msg=rare", 1)
		time.Sleep(Period)
		synctest.Wait()
		expectLines(t, out, "level=WARN msg=\"more of the same, not written one by one\" message=often lines=5", 1)

		l.Write(slog.LevelWarn, "often", "n", 2) // in the next period
		expectLines(t, out, "msg=often n=2", 1)
	})
}

func TestAPeriodBeginsWithItsFirstLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, out := record(slog.LevelInfo)
		for range 10 {
			l.Write(slog.LevelWarn, "now and then")
			time.Sleep(Period)
		}
		expectLines(t, out, "msg=\"now and then\"", 10)
		expectLines(t, out, "more of the same", 0)
	})
}

func TestCloseWritesWhatWasSuppressed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, out := record(slog.LevelInfo)
		for range MaxLines + 1 {
			l.Write(slog.LevelWarn, "often")
		}
		l.Close()
		expectLines(t, out, "message=often lines=1", 1)
		for range MaxLines + 1 {
			l.Write(slog.LevelWarn, "often")
		}
		time.Sleep(time.Hour) // nothing is left that could write
		expectLines(t, out, "more of the same", 1)
		l.Close()
	})
}

func TestALevelThatIsOffIsNotCounted(t *testing.T) {
	t.Parallel()
	l, out := record(slog.LevelError)
	for range MaxLines + 1 {
		l.Write(slog.LevelWarn, "often")
	}
	l.Close()
	if out.String() != "" || len(l.messages) != 0 {
		t.Errorf("wrote %q and counted %v", out.String(), l.messages)
	}
}
