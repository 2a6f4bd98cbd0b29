//go:build unix

package cli

import (
	"os"
	"strings"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/config"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/internal/engineurl"
	"github.com/leasehold-go/leasehold/internal/ownpath"
)

// findReadableSecrets returns a finding for each file with a password that every user of the machine may read. That
// need not be a fault: secrets in containers are often like that.
func (a *app) findReadableSecrets(getenv func(string) string) (all []admin.Finding) {
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
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || !ownpath.ReadByAll(file) {
			continue
		}
		all = append(all, admin.Finding{Severity: admin.Note, Code: "secret-readable",
			Text: "every user of the machine may read " + file + ", in which there is a password of the engine",
			Fix:  "chmod o= the file; or nothing, if nobody else is there, as in a container"})
	}
	return all
}

// hasPassword reports whether the URL of an engine has a password in it.
func hasPassword(url string) bool {
	_, had := engine.WithoutPassword(url)
	return had
}
