// Package server is bakeoff's own web server: an embedded target that needs
// nothing installed. It is the standard library's server, over TCP, TLS and Unix
// sockets, meant to run in a process of its own.
//
// The path says what is answered: /SIZE is that many bytes, as /1K or /100K, the
// same ones each time; / is one KiB; /status/CODE is that status. What is sent to it is read and
// counted in the answer of /echo.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"bakeoff/internal/osenv"
	"bakeoff/unit"
)

// Config says what a server listens on.
type Config struct {
	// Listen holds targets as the web engine takes them: http://HOST:PORT,
	// https://HOST:PORT (a certificate that the server signs itself) or
	// http+unix:///PATH. Port 0 is any free one.
	Listen []string
	// Ready is called once, when the server listens, with the targets in the
	// order of Listen and their real ports.
	Ready func(targets []string)
	// Clock dates the certificate; the system's where it is nil.
	Clock osenv.Clock
}

// maxAnswer bounds what one answer may have, in bytes.
const maxAnswer = 64 << 20

// Serve runs a server until ctx is done, which is no error.
func Serve(ctx context.Context, cfg Config) error {
	if cfg.Clock == nil {
		cfg.Clock = osenv.System{}
	}
	if len(cfg.Listen) == 0 {
		return errors.New("web server: nothing to listen on: expected a target as http://127.0.0.1:0")
	}
	var listeners []net.Listener
	var targets []string
	for _, target := range cfg.Listen {
		l, real, err := listen(ctx, cfg, target)
		if err != nil {
			return errors.Join(fmt.Errorf("web server: %w", err), closeAll(listeners))
		}
		listeners, targets = append(listeners, l), append(targets, real)
	}
	if cfg.Ready != nil {
		cfg.Ready(targets)
	}
	return serve(ctx, listeners)
}

func closeAll(listeners []net.Listener) error {
	var errs []error
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// serve answers on every listener until ctx is done.
func serve(ctx context.Context, listeners []net.Listener) error {
	s := &http.Server{Handler: handler(), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	errs := make([]error, len(listeners))
	var all sync.WaitGroup
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	for i, l := range listeners {
		all.Go(func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				errs[i] = fmt.Errorf("web server: answering at %s: %w", l.Addr(), err)
				_ = s.Close()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// listen opens one target and returns it with its real port.
func listen(ctx context.Context, cfg Config, target string) (net.Listener, string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, "", fmt.Errorf("listening on %q: %w", target, err)
	}
	network, address := "tcp", u.Host
	switch u.Scheme {
	case "http", "https":
	case "http+unix":
		network, address = "unix", u.Path
	default:
		return nil, "", fmt.Errorf("listening on %q: expected http://HOST:PORT, https://HOST:PORT or http+unix:///PATH", target)
	}
	if address == "" {
		return nil, "", fmt.Errorf("listening on %q: found no address in it", target)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if err != nil {
		return nil, "", fmt.Errorf("listening on %s: %w", target, err)
	}
	if network == "tcp" {
		u.Host = l.Addr().String()
	}
	if u.Scheme == "https" {
		cert, err := selfSigned(cfg.Clock.Now())
		if err != nil {
			return nil, "", errors.Join(fmt.Errorf("making a certificate: %w", err), l.Close())
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	}
	return l, u.String(), nil
}

func handler() http.Handler {
	mux := http.NewServeMux()
	content := strings.Repeat("0123456789abcdef", 64<<10/16)
	mux.HandleFunc("/{size}", func(w http.ResponseWriter, r *http.Request) { answer(w, r.PathValue("size"), content) })
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { answer(w, "1K", content) })
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, err := strconv.Atoi(r.PathValue("code"))
		if err != nil || code < 200 || code > 599 {
			code = http.StatusBadRequest
		}
		w.WriteHeader(code)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer(w, strconv.FormatInt(n, 10), content)
	})
	return mux
}

// answer sends so many bytes of content, over and over.
func answer(w http.ResponseWriter, size, content string) {
	n, err := unit.ParseSize(size)
	if err != nil || n < 0 || n > maxAnswer {
		http.Error(w, "expected a size up to 64M, as /1K", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
	for n > 0 {
		part := content[:min(n, int64(len(content)))]
		if _, err := io.WriteString(w, part); err != nil {
			return // the client is gone
		}
		n -= int64(len(part))
	}
}
