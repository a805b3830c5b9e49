// Package http is the web engine: HTTP/1.1 requests (RFC 9112) over TCP, TLS
// and Unix sockets, on connections that are kept or opened anew for each
// request, in a closed or an open loop.
//
// Every answer is checked: its status, its length and, on demand, its content.
// One that fails the check is an error and never throughput.
package http

import (
	"context"
	"fmt"
	"strings"

	"bakeoff/load"
	"bakeoff/load/dial"
	"bakeoff/load/gather"
)

// Engine is the web engine. Its zero value is ready.
type Engine struct{}

// Name is "http".
func (Engine) Name() string { return "http" }

// methods are the request methods of RFC 9110 section 9 that a load can have,
// in the order of Description.Kinds.
func methods() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
}

// Describe documents the engine.
func (Engine) Describe() load.Description {
	var kinds []string
	for _, m := range methods() {
		kinds = append(kinds, strings.ToLower(m))
	}
	return load.Description{
		Summary:    "HTTP/1.1 requests to a web server, every answer checked.",
		Parameters: parameters(),
		Kinds:      kinds,
		Parts:      []load.Part{load.Source},
		Target:     targetForms,
	}
}

// Open validates the parameters. It sends nothing.
func (e Engine) Open(_ context.Context, spec load.Spec) (load.Session, error) {
	if spec.Part != load.Source && spec.Part != "" {
		return nil, fmt.Errorf("engine http: part is %q; it has only a source", spec.Part)
	}
	cfg, err := configure(spec, e.Describe())
	if err != nil {
		return nil, err
	}
	return newSession(cfg), nil
}

func parameters() []load.Parameter {
	return append([]load.Parameter{
		{Name: "connections", Type: load.TypeInt, Default: "50", Doc: "Connections, shared out among the workers."},
		{Name: "pipeline", Type: load.TypeInt, Default: "1", Doc: "Requests in flight on a connection; more than 1 is HTTP pipelining, which browsers do not do."},
		{Name: "requests", Type: load.TypeList, Doc: "What is asked for, each item \"[METHOD] PATH [WEIGHT]\", as \"/a.html\" or \"GET /b.png 3\"; the target's own path without it."},
		{Name: "requests_file", Type: load.TypeString, Doc: "A file with such items, one a line, in place of requests."},
		{Name: "order", Type: load.TypeEnum, Values: []string{"random", "sequential"}, Default: "random", Doc: "random draws requests by their weights; sequential walks the list, each worker beginning at its own place."},
		{Name: "headers", Type: load.TypeList, Doc: "Header fields of every request, each \"Name: value\"."},
		{Name: "body_size", Type: load.TypeSize, Default: "0", Doc: "Bytes that POST, PUT and PATCH send."},
		{Name: "body_file", Type: load.TypeString, Doc: "A file that POST, PUT and PATCH send, in place of body_size."},
		{Name: "status", Type: load.TypeList, Default: "2xx", Doc: "Status codes that are right, as 200, 304 or 2xx; any other is an error."},
		{Name: "length", Type: load.TypeEnum, Values: []string{"check", "any"}, Default: "check", Doc: "check: an answer to GET must be as long as when the load was prepared; any: it need not be, as of pages that are made afresh."},
		{Name: "verify", Type: load.TypeBool, Default: "false", Doc: "Check the content of every answer to GET too (CRC-32C of what was there when the load was prepared). It costs the generator CPU."},
		{Name: "discard", Type: load.TypeBool, Default: "false", Doc: "Have the kernel throw contents away instead of copying them (MSG_TRUNC), as of large files: only their length is checked then. In the clear over TCP; what a client does with its data is no longer part of the load."},
		{Name: "connection_requests", Type: load.TypeInt, Default: "0", Doc: "Requests after which a connection is closed and opened anew; 1 measures connecting (and the TLS handshake), 0 keeps connections."},
		{Name: "tls_resume", Type: load.TypeBool, Default: "true", Doc: "Resume TLS sessions when a connection is opened anew; without it each handshake is a full one."},
		{Name: "tls_version", Type: load.TypeEnum, Values: []string{"auto", "1.2", "1.3"}, Default: "auto", Doc: "Version of TLS to speak; auto is the highest that both know."},
		{Name: "receive_buffer", Type: load.TypeSize, Default: "64K", Doc: "What one receive can bring; large answers cost less CPU with a large one."},
		{Name: "io", Type: load.TypeEnum, Values: []string{"auto", "io_uring", "epoll"}, Default: "auto", Doc: "How the generator talks to the kernel."},
		gather.Parameter(),
	}, dial.TLSParameters()...)
}
