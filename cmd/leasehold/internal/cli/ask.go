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

// agreed asks on the terminal. Only yes means yes.
func (a *app) agreed(ctx context.Context, question string) bool {
	_, _ = fmt.Fprintf(a.err, "%s [y/N] ", a.secrets.hide(question, false))
	answer := make(chan string, 1)
	go func() { // ends with the process: reading a terminal cannot be called off
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

// caller is user@host: who has called the command, for records. With sudo or doas it is who has called that.
func caller(getenv func(string) string, uid int) string {
	name := ""
	for _, variable := range []string{"SUDO_USER", "DOAS_USER"} { // which anybody may set, and which means something for root alone
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
