// Package kv is the key-value engine: Redis and the servers that speak its
// protocol (RESP2 and RESP3), and memcached (text and meta protocol), over TCP,
// TLS and Unix sockets.
//
// A worker drives its connections on one thread through load/ring. The wire
// codecs are pure: a parser takes bytes and keeps what it needs between chunks,
// so that any split of a stream gives the same replies.
package kv

import (
	"context"
	"fmt"

	"bakeoff/load"
	"bakeoff/load/dial"
)

// Engine is the key-value engine. Its zero value is ready.
//
// Spec.Secrets may hold "password", and "username" where the server has users.
type Engine struct{}

// Name is "kv".
func (Engine) Name() string { return "kv" }

// The kinds of operation, in the order of Description.Kinds.
const (
	kindGet uint8 = iota
	kindSet
	kindCommand
	kinds
)

// Describe documents the engine.
func (Engine) Describe() load.Description {
	return load.Description{
		Summary:    "Gets and sets (or any command) on Redis, memcached and servers that speak their protocols.",
		Parameters: parameters(),
		Kinds:      []string{kindGet: "get", kindSet: "set", kindCommand: "command"},
		Parts:      []load.Part{load.Source},
		Target:     targetForms,
	}
}

// Open validates the parameters. It sends nothing.
func (e Engine) Open(_ context.Context, spec load.Spec) (load.Session, error) {
	if spec.Part != load.Source && spec.Part != "" {
		return nil, fmt.Errorf("engine kv: part is %q; it has only a source", spec.Part)
	}
	cfg, err := configure(spec, e.Describe())
	if err != nil {
		return nil, err
	}
	return newSession(cfg), nil
}

func parameters() []load.Parameter {
	patterns := []string{"uniform", "sequential", "parallel", "gaussian", "zipf", "hot"}
	const patternDoc = "uniform at random; sequential: all workers walk the keys together; parallel: each worker walks its own share; gaussian, zipf and hot favour some keys"
	return append([]load.Parameter{
		{Name: "connections", Type: load.TypeInt, Default: "50", Doc: "Connections, shared out among the workers."},
		{Name: "pipeline", Type: load.TypeInt, Default: "1", Doc: "Operations in flight on a connection."},
		{Name: "ratio", Type: load.TypeString, Default: "1:10", Doc: "Sets to gets, drawn at random; 0:1 only reads."},
		{Name: "multi_get", Type: load.TypeInt, Default: "1", Doc: "Keys a get asks for at once (MGET, get k1 k2 ...); the operation is a miss where any is missing."},
		{Name: "key_prefix", Type: load.TypeString, Default: "bakeoff-", Doc: "What a key's number is appended to."},
		{Name: "key_minimum", Type: load.TypeInt, Default: "1", Doc: "Lowest number of a key."},
		{Name: "key_maximum", Type: load.TypeInt, Default: "100k", Doc: "Highest number of a key."},
		{Name: "get_pattern", Type: load.TypeEnum, Values: patterns, Default: "uniform", Doc: "How the keys of gets are drawn: " + patternDoc + "."},
		{Name: "set_pattern", Type: load.TypeEnum, Values: patterns, Default: "uniform", Doc: "How the keys of sets and commands are drawn."},
		{Name: "zipf_exponent", Type: load.TypeFloat, Default: "0.99", Doc: "Of the zipf pattern: key i is drawn with weight 1/i^exponent."},
		{Name: "gaussian_center", Type: load.TypePercent, Default: "50%", Doc: "Of the gaussian pattern: its mean, in percent of the key range."},
		{Name: "gaussian_deviation", Type: load.TypePercent, Default: "16.7%", Doc: "Of the gaussian pattern: its standard deviation, in percent of the key range."},
		{Name: "hot_keys", Type: load.TypePercent, Default: "20%", Doc: "Of the hot pattern: the share of the keys that is hot."},
		{Name: "hot_draws", Type: load.TypePercent, Default: "80%", Doc: "Of the hot pattern: the share of the operations that go to hot keys."},
		{Name: "value_size", Type: load.TypeString, Default: "32", Unit: "B", Doc: "Size of a value: one size (32), a range (32-4K) or sizes with weights (64:80,1K:15,4K:5). A key's size never changes."},
		{Name: "data", Type: load.TypeEnum, Values: []string{"random", "constant"}, Default: "random", Doc: "What values are made of: random bytes of the key's own, which do not compress, or the letter x."},
		{Name: "expiry", Type: load.TypeString, Doc: "Time to live of what is set: one duration (60s) or a range (10s-60s); not of what the preload sets."},
		{Name: "command", Type: load.TypeString, Doc: "A Redis command in place of gets and sets, as HSET __key__ field __data__."},
		{Name: "protocol", Type: load.TypeEnum, Values: []string{"auto", "resp2", "resp3", "text", "meta", "meta-quiet"}, Default: "auto", Doc: "Wire protocol; auto is resp2 for Redis and text for memcached. meta-quiet pipelines: only hits and errors are answered, one by one."},
		{Name: "username", Type: load.TypeString, Doc: "User to authenticate as; the password comes as a secret."},
		{Name: "preload", Type: load.TypeEnum, Values: []string{"auto", "all", "keep", "none"}, Default: "auto", Doc: "all: set every key before each trial; keep: use what is there, checked by a sample; none: neither; auto: all, but none with a command."},
		{Name: "flush", Type: load.TypeBool, Default: "false", Doc: "Empty the target's database before the preload. It deletes what others have there."},
		{Name: "verify", Type: load.TypeBool, Default: "false", Doc: "Check every value that comes back, and all keys after the window. It costs the generator CPU."},
		{Name: "reconnect_every", Type: load.TypeInt, Default: "0", Doc: "Replies after which a connection is closed and opened again; 0: never."},
		{Name: "io", Type: load.TypeEnum, Values: []string{"auto", "io_uring", "epoll"}, Default: "auto", Doc: "How the generator talks to the kernel."},
	}, dial.TLSParameters()...)
}
