//go:build unix

package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// confirm asks a question on the terminal. It reports true only for y or yes.
func (a *app) confirm(ctx context.Context, question string) bool {
	_, _ = fmt.Fprintf(a.err, "%s [y/N] ", a.secrets.redact(question, false))
	answer := make(chan string, 1)
	go func() { // ends with the process: reading from a terminal cannot be cancelled
		line, _ := bufio.NewReader(a.in).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return false
	case said := <-answer:
		return said == "y" || said == "yes"
	}
}

// caller returns the user@host that has called the command, for records. Under sudo or doas it is the user who has
// called those.
func caller(getenv func(string) string, uid int) string {
	name := ""
	for _, variable := range []string{"SUDO_USER", "DOAS_USER"} { // anybody may set them, so they count for root alone
		if name == "" && uid == 0 {
			name = strings.ToValidUTF8(getenv(variable), "?")
		}
	}
	if name == "" {
		name = "uid " + strconv.Itoa(uid)
		if u, err := user.LookupId(strconv.Itoa(uid)); err == nil && u.Username != "" {
			name = u.Username
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}
