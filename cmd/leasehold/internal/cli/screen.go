//go:build unix

package cli

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/screen"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
)

// defaultWidth is the line width if the output is no terminal.
const defaultWidth = 100

// screen returns what standard output can show: colours only on a terminal and unless NO_COLOR is set
// (https://no-color.org); only ASCII if the locale has nothing else.
func (a *app) screen(getenv func(string) string) screen.Screen {
	s := screen.Screen{Width: defaultWidth, ASCII: !hasUnicode(getenv)}
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

// hasUnicode reports whether the locale is a UTF-8 one. The first of these variables that is set counts, see locale(7).
// If none is set, UTF-8 is assumed.
func hasUnicode(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := getenv(name); locale != "" {
			locale = strings.ToUpper(strings.ReplaceAll(locale, "-", ""))
			return strings.Contains(locale, "UTF8")
		}
	}
	return true
}
