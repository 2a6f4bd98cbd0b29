package postgresserver

// Config is the configuration of a server. The zero Config is that of [Start].
type Config struct {
	// TCP makes the server listen on a port of 127.0.0.1 in addition to a socket. The port stays the same when it
	// restarts.
	TCP bool
	// Durable makes the server keep what it has confirmed when its processes crash. Tests of crashes need it. It does
	// not wait for the disk: otherwise a crashed server would first write all its files to the disk when it starts
	// again.
	Durable bool
	// OnDisk implies Durable, and makes the server wait for the disk as PostgreSQL does by default, which protects
	// against crashes of the machine. Benchmarks need it.
	OnDisk bool
	// Settings are additional lines of postgresql.conf, as in "autovacuum=on". They override all others.
	Settings []string
	// Env is added to the environment of the server, as in "LD_PRELOAD=/path".
	Env []string
}

// Settings that make tests faster. After a crash of the server, unsyncedSettings may lose what was confirmed just
// before; after a crash of the machine, noSyncSettings may damage the whole database.
var (
	unsyncedSettings = []string{"synchronous_commit=off"}
	noSyncSettings   = []string{"fsync=off", "full_page_writes=off"}
)

// smallSettings are for tests that start many servers.
var smallSettings = []string{"max_connections=100", "shared_buffers=16MB", "autovacuum=off"}

// arguments are the command-line arguments of the server.
func (s *Server) arguments() []string {
	lines := []string{"listen_addresses=", "unix_socket_directories=" + s.first.Dir()}
	if s.port != 0 {
		lines[0] += "127.0.0.1"
	}
	if !s.config.OnDisk {
		lines = append(lines, noSyncSettings...)
	}
	if !s.config.OnDisk && !s.config.Durable {
		lines = append(lines, unsyncedSettings...)
	}
	lines = append(append(lines, smallSettings...), s.config.Settings...)
	args := []string{"-D", s.data(), "-p", s.portText()}
	for _, line := range lines {
		args = append(args, "-c", line)
	}
	return args
}
