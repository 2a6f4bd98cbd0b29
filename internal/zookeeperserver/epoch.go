package zookeeperserver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// The files in which a server of an ensemble keeps the number of the newest leader that it has agreed to follow, and of
// the leader whose data it has taken over. The latter is first written to a temporary file.
const (
	acceptedEpoch  = "acceptedEpoch"
	currentEpoch   = "currentEpoch"
	epochTemporary = currentEpoch + ".tmp"
)

// fixEpoch completes what a server was doing that was killed between the creation of a file and its first byte: it had
// taken over the data of a leader, and was about to record its number. ZooKeeper does not start again then ("Found null
// in currentEpoch.tmp"), and expects an administrator to write the number that it has agreed to.
func fixEpoch(data string) error {
	dir := filepath.Join(data, "version-2")
	aside := filepath.Join(dir, epochTemporary)
	file, err := os.Stat(aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || file.Size() > 0 {
		return err
	}
	number, err := os.ReadFile(filepath.Join(dir, acceptedEpoch))
	if err != nil {
		return err
	}
	return os.WriteFile(aside, number, 0o600)
}
