//go:build unix

package cli

import (
	"os"
	"strings"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/config"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/internal/engineurl"
	"github.com/leasehold-go/leasehold/internal/exposure"
)

// findReadableSecrets returns a finding for each file with a password that every user of the machine may read, among
// those that the command reads itself. The engine reports those that it reads.
func (a *app) findReadableSecrets(getenv func(string) string) []admin.Finding {
	var files []string
	given := a.root.PersistentFlags().Changed("engine")
	switch url, _ := config.Engine(a.engine, given, getenv); {
	case strings.HasPrefix(url, "@"):
		if info, err := os.Stat(url[1:]); err == nil && info.Mode().IsRegular() {
			if text, err := engineurl.SecretFile(url[1:]); err == nil && hasPassword(text) {
				files = append(files, url[1:])
			}
		}
	case !given && getenv(config.EngineVariable) == "":
		if hasPassword(url) {
			file, _ := config.File(getenv) // the file that has just been read
			files = append(files, file)
		}
	}
	for _, set := range os.Environ() {
		if name, value, _ := strings.Cut(set, "="); passwordFileVariable.MatchString(name) && value != "" {
			files = append(files, value)
		}
	}
	return exposure.FindReadable(files...)
}

// hasPassword reports whether the URL of an engine has a password in it.
func hasPassword(url string) bool {
	_, had := engine.WithoutPassword(url)
	return had
}
