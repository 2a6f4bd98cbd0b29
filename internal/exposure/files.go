package exposure

import (
	"os"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/ownpath"
)

// FindReadable returns a finding for each of these files with a password or a key that every user of the machine may
// read. That need not be a fault: secrets in containers are often like that.
func FindReadable(files ...string) (found []driver.Finding) {
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || !ownpath.ReadByAll(file) {
			continue
		}
		found = append(found, driver.Finding{Severity: driver.Note, Code: "secret-readable",
			Text: "every user of the machine may read " + file +
				", in which there is a password or a key of the engine",
			Fix: "chmod o= the file; or nothing, if nobody else is there, as in a container"})
	}
	return found
}
