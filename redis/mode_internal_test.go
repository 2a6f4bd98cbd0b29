package redis

import (
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

// Redis and Valkey name their mode differently. A server that names none is refused: nothing is assumed.
func TestModeIsReadAndNeverAssumed(t *testing.T) {
	t.Parallel()
	const valkey = "run_id:x\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.8\r\n"
	for info, cluster := range map[string]bool{
		"run_id:x\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n": false,
		"run_id:x\r\nredis_version:7.0.15\r\nredis_mode:cluster\r\n":    true,
		valkey + "server_mode:standalone\r\n":                           false,
		valkey + "server_mode:cluster\r\n":                              true,
		valkey + "redis_mode:cluster\r\n":                               true, // with extended-redis-compatibility
	} {
		if f, err := askInfo(t.Context(), infoServer(info)); err != nil || f.isCluster() != cluster {
			t.Errorf("%q: cluster: %v (%v), want %v", info, f.isCluster(), err, cluster)
		}
	}
	for info, want := range map[string]string{
		valkey:                              "neither redis_mode nor server_mode",
		valkey + "server_mode:ring\r\n":     `"ring"`,
		valkey + "server_mode:\r\n":         "neither redis_mode nor server_mode",
		valkey + "server_mode:sentinel\r\n": "Sentinel",
		valkey + "server_mode:standalone\r\nredis_mode:cluster\r\n": `"standalone and cluster"`,
	} {
		if _, err := askInfo(t.Context(), infoServer(info)); !driver.IsPermanent(err) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want a permanent error that says %s", info, err, want)
		}
	}
}

// Valkey says which version of Redis it is compatible with. This version is checked, and Valkey's own is shown.
func TestVersionIsThatOfTheProduct(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]string{
		"redis_version:7.0.15\r\nredis_mode:standalone\r\n":                      "7.0.15",
		"redis_version:7.2.4\r\nvalkey_version:9.1.2\r\nserver_mode:cluster\r\n": "Valkey 9.1.2",
	} {
		if got := readInfo(info).displayVersion(); got != want {
			t.Errorf("%q: %q, want %q", info, got, want)
		}
	}
	if _, err := askInfo(t.Context(),
		infoServer("run_id:x\r\nredis_version:6.2.7\r\nredis_mode:standalone\r\n")); !driver.IsPermanent(err) ||
		!strings.Contains(err.Error(), "6.2.7") {
		t.Errorf("an old version: %v", err)
	}
}
