package sqlite

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestBootTimeOffset(t *testing.T) {
	t.Parallel()
	for offsets, want := range map[string]time.Duration{
		"": 0,
		"monotonic           0         0\nboottime            0         0\n":   0,
		"monotonic           7         0\nboottime       100000       500\n":   100_000*time.Second + 500,
		"monotonic           0         0\nboottime           -5 999000000\n":   -5*time.Second + 999*time.Millisecond,
		"monotonic           0         0\nsomething new      -5 999000000\n\n": 0,
	} {
		if got := bootTimeOffset(offsets); got != want {
			t.Errorf("bootTimeOffset(%q) = %v, want %v", offsets, got, want)
		}
	}
}

// TestContainersWithAnotherBootTime shares a file with a process whose clock the
// kernel shifts by a day.
func TestContainersWithAnotherBootTime(t *testing.T) {
	t.Parallel()
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("there is no unshare(1) to make a time namespace with")
	}
	if out, err := exec.Command(unshare, "-T", "--boottime", "86400", "true").CombinedOutput(); err != nil {
		t.Skipf("no right to make a time namespace: %v: %s", err, out)
	}
	path := newPath(t)
	e := openFile(t, path)
	r := lock("a")
	mustTake(t, e, r)
	p := exec.Command(unshare, "-T", "--boottime", "86400", os.Args[0], path, "a")
	p.Env = append(os.Environ(), roleVariable+"=try")
	out, err := p.CombinedOutput()
	if err != nil || string(out) != "held\n" {
		t.Errorf("the process with another clock says %q (%v), want that the name is held", out, err)
	}
}

func TestNetworkFileSystemsAreKnown(t *testing.T) {
	t.Parallel()
	for name, magic := range map[string]int64{
		"NFS": unix.NFS_SUPER_MAGIC, "CIFS": unix.CIFS_SUPER_MAGIC, "SMB2": unix.SMB2_SUPER_MAGIC,
	} {
		// On some machines the kernel's number is signed.
		if !isNetwork(magic) || !isNetwork(int64(int32(uint32(magic)))) {
			t.Errorf("%s is not known as a network file system", name)
		}
	}
	if isNetwork(unix.EXT4_SUPER_MAGIC) || isNetwork(unix.TMPFS_MAGIC) {
		t.Error("a local file system counts as a network file system")
	}
}
