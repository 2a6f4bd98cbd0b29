package postgresserver

// Config says how a server is to be. The zero Config is that of [Start].
type Config struct {
	// TCP lets it listen on a port of 127.0.0.1, too, which stays the same over restarts, and not on a socket alone.
	TCP bool
	// Durable has it keep what it has confirmed over a crash of its processes. It is what tests of crashes need. The disk is not waited for: a crashed
	// server starts again in a moment, while it would first write all its files to the disk.
	Durable bool
	// OnDisk is Durable, and has it wait for the disk as PostgreSQL does by default, which is for a crash of the machine. It is what benchmarks need.
	OnDisk bool
	// Settings are more lines of postgresql.conf, as in "autovacuum=on". They override the others.
	Settings []string
}

// What a test gains time with: a crash of the server may lose what was confirmed just before, and one of the machine may damage all of it.
var (
	careless = []string{"synchronous_commit=off"}
	inMemory = []string{"fsync=off", "full_page_writes=off"}
)

// small is for tests that start many servers.
var small = []string{"max_connections=100", "shared_buffers=16MB", "autovacuum=off"}

// arguments are those of the program.
func (s *Server) arguments() []string {
	lines := []string{"listen_addresses=", "unix_socket_directories=" + s.first.Dir()}
	if s.port != 0 {
		lines[0] += "127.0.0.1"
	}
	if !s.config.OnDisk {
		lines = append(lines, inMemory...)
	}
	if !s.config.OnDisk && !s.config.Durable {
		lines = append(lines, careless...)
	}
	lines = append(append(lines, small...), s.config.Settings...)
	args := []string{"-D", s.data(), "-p", s.portText()}
	for _, line := range lines {
		args = append(args, "-c", line)
	}
	return args
}
