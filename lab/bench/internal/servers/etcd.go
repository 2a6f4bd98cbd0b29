package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// Etcd is one etcd server, a cluster of its own.
type Etcd struct {
	server  *etcdserver.Server
	version string
	client  *clientv3.Client
}

// OpenEtcd starts a server with its own folder and ports.
func OpenEtcd(ctx context.Context) (_ *Etcd, err error) {
	server, err := etcdserver.Start(etcdserver.Config{})
	if err != nil {
		return nil, err
	}
	e := &Etcd{server: server}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	status, err := server.Status()
	if err != nil {
		return nil, err
	}
	e.version = status.Version
	e.client, err = clientv3.New(clientv3.Config{Endpoints: []string{server.Addr()}, Logger: zap.NewNop(),
		Context: context.WithoutCancel(ctx)})
	return e, err
}

// Addrs returns the one address.
func (e *Etcd) Addrs() []string { return []string{e.server.Addr()} }

// Info says which server it is.
func (e *Etcd) Info() Info {
	return Info{OneEtcd, "etcd " + e.version, "started for the benchmark: one member, loopback, default durability: " +
		"each change is synced to " + disk() + " before it is answered"}
}

// Load reads the metrics of the server. It reads the processor time from the system, which is more
// exact.
func (e *Etcd) Load(context.Context) (Load, error) {
	text, err := e.server.Get("/metrics")
	if err != nil {
		return Load{}, err
	}
	l, err := etcdLoad(text)
	if exact := ProcessorTime(e.server.PID()); exact > 0 {
		l.CPU = exact
	}
	return l, err
}

// etcdLoad adds up metrics in the text format of Prometheus: all messages of clients, calls as well
// as parts of a stream.
func etcdLoad(text []byte) (l Load, err error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return Load{}, fmt.Errorf("the metrics of etcd: %w", err)
	}
	for _, m := range families["grpc_server_msg_received_total"].GetMetric() {
		l.Commands += m.GetCounter().GetValue()
	}
	cpu := families["process_cpu_seconds_total"].GetMetric()
	if len(cpu) == 0 || cpu[0].Counter == nil {
		return Load{}, errors.New("the metrics of etcd do not tell its processor time")
	}
	l.CPU = time.Duration(cpu[0].GetCounter().GetValue() * float64(time.Second))
	return l, nil
}

// RemoveKeys deletes all keys that have mark in their names.
func (e *Etcd) RemoveKeys(ctx context.Context, mark string) error {
	all, err := e.client.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	var errs []error
	for _, kv := range all.Kvs {
		if bytes.Contains(kv.Key, []byte(mark)) {
			_, err := e.client.Delete(ctx, string(kv.Key))
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Close ends the server and removes its folder.
func (e *Etcd) Close() error {
	var err error
	if e.client != nil {
		err = e.client.Close()
	}
	return errors.Join(err, e.server.Close())
}
