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
func (a *app) findReadableSecrets() []admin.Finding {
	var files []string
	given := a.root.PersistentFlags().Changed("engine")
	set, _ := config.Engine(a.engine, given, os.LookupEnv)
	switch path, isFile := strings.CutPrefix(set.Text, "@"); {
	case isFile:
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			if text, err := engineurl.SecretFile(path); err == nil && hasPassword(text) {
				files = append(files, path)
			}
		}
	case set.Source.IsFile() && hasPassword(set.Text):
		files = append(files, set.Source.Name)
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
