package zookeeperserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrMissing means that there is no ZooKeeper on this machine. It says what to install.
var ErrMissing = errors.New("zookeeperserver: java or the jars of ZooKeeper are missing: " +
	"install them (on Debian: apt-get install libzookeeper-java default-jre-headless), " +
	"or name the folder of an unpacked release in " + Env)

// Env is the environment variable that names the folder of an unpacked release of Apache ZooKeeper, whose jars are used
// instead of those of the system.
const Env = "LEASEHOLD_ZOOKEEPER"

// jars are the files of Debian. The first one refers to all that it needs. The second one writes the log, and is
// optional.
var jars = []string{"/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"}

// program is what runs a server.
type program struct {
	java      string
	classPath string
}

// find looks for Java and the jars: those of a release, or those of Debian if release is empty.
func find(release string) (program, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return program{}, fmt.Errorf("%w (%w)", ErrMissing, err)
	}
	if release == "" {
		if _, err := os.Stat(jars[0]); err != nil {
			return program{}, fmt.Errorf("%w (%w)", ErrMissing, err)
		}
		return program{java, jars[0] + string(filepath.ListSeparator) + jars[1]}, nil
	}
	lib, err := filepath.Abs(filepath.Join(release, "lib"))
	if err != nil {
		return program{}, err
	}
	if found, _ := filepath.Glob(filepath.Join(lib, "zookeeper*.jar")); len(found) == 0 { // the pattern is valid
		return program{}, fmt.Errorf("%w: there is no zookeeper*.jar in %s", ErrMissing, lib)
	}
	return program{java, filepath.Join(lib, "*")}, nil
}

// arguments returns the arguments of Java: a small heap, a quick start, a short log, and no files outside of dir.
func (p program) arguments(dir string) []string {
	return []string{
		"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData",
		"-Djava.awt.headless=true", "-Djava.io.tmpdir=" + dir,
		"-Dzookeeper.jmx.log4j.disable=true", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", dir + string(filepath.ListSeparator) + p.classPath,
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(dir, configFile),
	}
}

// logback makes a release of 3.8 or newer log warnings only.
const logback = `<configuration>
<appender name="out" class="ch.qos.logback.core.ConsoleAppender">
<encoder><pattern>%d [%thread] %level %logger{1} - %msg%n</pattern></encoder>
</appender>
<root level="WARN"><appender-ref ref="out"/></root>
</configuration>
`
