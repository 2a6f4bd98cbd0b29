package redisson

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/internal/redissonwire"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

var update = flag.Bool("update", false, "write what Redisson "+javaside.Newest+" does into "+
	recordings+", and what each object can do into "+abilitiesFile)

// recordings are the files that the tests of redis/redisson compare with, too.
const recordings = "../../redis/redisson/testdata/wire"

// setups are the servers that recordings were made on, by their folder.
var setups = map[string]func(t *testing.T) (javaside.Config, []*redisserver.Server){
	".": func(t *testing.T) (javaside.Config, []*redisserver.Server) {
		s := redisserver.ForTest(t, redisserver.Config{})
		return javaside.Single(s.URL()), []*redisserver.Server{s}
	},
	"cluster": func(t *testing.T) (javaside.Config, []*redisserver.Server) {
		c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
		return javaside.Several("cluster", c.Addrs()...), c.Nodes
	},
	"replicated": func(t *testing.T) (javaside.Config, []*redisserver.Server) {
		r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
		var addresses []string
		for _, s := range r.Servers() {
			addresses = append(addresses, s.Addr())
		}
		return javaside.Several("replicated", addresses...), []*redisserver.Server{r.Master}
	},
}

func TestRedissonDoesWhatIsRecorded(t *testing.T) {
	t.Parallel()
	for _, version := range beside {
		if *update && version != javaside.Newest {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			java := javaside.Start(t, version)
			t.Run("all", func(t *testing.T) { // returns when all files are played
				for folder, setup := range setups {
					files, err := filepath.Glob(filepath.Join(recordings, folder, "*.txt"))
					if err != nil || len(files) == 0 {
						t.Errorf("no recordings in folder %s of %s: %v", folder, recordings, err)
					}
					for _, codec := range codecs {
						if codec != "" && (folder != "." || *update) {
							continue
						}
						for _, file := range files {
							_, class, _ := strings.Cut(codec, "codec.")
							name := strings.TrimSuffix(filepath.Base(file), ".txt") + class
							t.Run(name, func(t *testing.T) {
								t.Parallel()
								played := 0
								begin := func() (redissonwire.Side, []*redisserver.Server) {
									played++
									config, servers := setup(t)
									config.Codec = codec
									return &player{java: java, file: fmt.Sprint(name, "-", played), config: config,
										labels: map[string]string{}}, servers
								}
								o := redissonwire.Options{Update: *update, Version: version, Skip: skips[version]}
								if codec != "" { // this object is not in Go, and encodes the names of the locks
									o.Parts = func(title string) bool { return title != "a multi-lock in one key" }
								}
								redissonwire.Play(t, file, begin, o)
							})
						}
					}
				}
			})
		})
	}
}

// skips are the lines in which older versions differ from what is recorded.
var skips = map[string]func(part, line string) bool{
	// It removes the latch of an unlock by the client's id instead of the request's, so that the latch stays until its
	// ttl has passed.
	"3.52.0": func(_, line string) bool {
		return strings.HasPrefix(line, "k redisson_unlock_latch") ||
			strings.HasPrefix(line, "c ") && strings.Contains(line, " DEL redisson_unlock_latch")
	},
}

// player plays calls on a real Redisson. Several files are played in one process, so the clients of each have names of
// their own there.
type player struct {
	java   *javaside.Program
	file   string
	config javaside.Config

	mu     sync.Mutex
	labels map[string]string
}

func (p *player) client(name string) string { return p.file + ":" + name }

func (p *player) Open(ctx context.Context, client string, options map[string]string) error {
	c := p.config
	c.Name, c.WholeScripts, c.RetryDelay = client, true, time.Second
	for key, value := range options {
		ms, err := strconv.Atoi(value)
		d := time.Duration(ms) * time.Millisecond
		switch key {
		case "prefix":
			c.Prefix, err = value, nil
		case "sharded":
			c.Sharded, err = value, nil
		case "watchdog":
			c.Watchdog = d
		case "fairWait":
			c.FairWait = d
		default:
			return fmt.Errorf("there is no option %s", key)
		}
		if err != nil {
			return err
		}
	}
	_, err := p.java.Open(ctx, p.client(client), c)
	return err
}

func (p *player) Begin(ctx context.Context, client, thread string) error {
	owner, err := p.java.Owner(ctx, p.client(client), thread)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.labels[owner] = client + ":" + thread
	return nil
}

func (p *player) Call(ctx context.Context, c redissonwire.Call) (any, error) {
	kind, _, _ := strings.Cut(c.Op, ".")
	if kind == "multi" || kind == "red" {
		parts := strings.Split(c.Name, "+")
		for i := range parts {
			parts[i] = p.client(parts[i])
		}
		c.Name = strings.Join(parts, "+")
	}
	v, err := p.java.Call(ctx, javaside.Call{
		Client: p.client(c.Client), Thread: c.Thread, Op: c.Op, Name: c.Name, Args: c.Args,
	})
	if e, ok := errors.AsType[javaside.Error](err); ok {
		return nil, fmt.Errorf("%w (%w)", redissonwire.Failure(e.Class()), err)
	}
	return v, err
}

func (p *player) Interrupt(ctx context.Context, client, thread string) error {
	return p.java.Interrupt(ctx, p.client(client), thread)
}

func (p *player) Labels() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.labels)
}
