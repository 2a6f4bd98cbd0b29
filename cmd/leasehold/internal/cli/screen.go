//go:build unix

package cli

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/draw"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
)

// usualWidth is that of what is no terminal.
const usualWidth = 100

// screen says what standard output can show: colours only on a terminal, and unless NO_COLOR is set (https://no-color.org); letters
// other than ASCII unless the locale has none.
func (a *app) screen(getenv func(string) string) draw.Screen {
	s := draw.Screen{Width: usualWidth, ASCII: !unicode(getenv)}
	file, ok := a.out.(*os.File)
	if !ok || !terminal.IsTerminal(file) {
		return s
	}
	s.Colors = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	if size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		s.Width = int(size.Col)
	}
	return s
}

// unicode reports whether the locale has more letters than ASCII. The first of these variables that is set counts, as locale(7) says; if none
// is, nobody has said anything against it.
func unicode(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := getenv(name); locale != "" {
			locale = strings.ToUpper(strings.ReplaceAll(locale, "-", ""))
			return strings.Contains(locale, "UTF8")
		}
	}
	return true
}
