// Package postgrestest starts real PostgreSQL servers for tests.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// User and Password are those of the server's superuser. The password is
// looked at where Options.Auth asks for one.
const (
	User     = "tester"
	Password = "it's a secret"
)

// Options of a server. The zero value is a server that trusts everybody.
type Options struct {
	// Auth is the method of pg_hba.conf: trust (without it), scram-sha-256, md5
	// or password.
	Auth string
	// Settings are lines of postgresql.conf, as "max_connections = 5".
	Settings []string
	// TLS has the server take TLS connections as well, with a certificate for
	// 127.0.0.1 and localhost that Server.CA signed.
	TLS bool
	// Dir is where its data goes, without its log; a temporary folder, with its log,
	// where it is not given. It must be empty.
	Dir string
}

// A Server is a PostgreSQL server that ends with the test.
type Server struct {
	URL    string // postgres://tester@127.0.0.1:port/postgres
	Socket string // folder of its Unix socket
	Port   int
	CA     string // file of the certificate that signed the server's; "" without TLS

	t       testing.TB
	dir     string // data
	logFile string
	owner   *syscall.Credential
	cmd     *exec.Cmd
	done    chan struct{}
}

// Start starts a server with what makes tests fast: no fsync, small memory.
// The test fails where PostgreSQL is missing, and is skipped under -short.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a PostgreSQL server")
	}
	s := &Server{t: t, Port: freePort(t), owner: owner(t)}
	// A socket's path has 107 bytes at most: not below the test's own folder.
	base, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	s.Socket, s.dir, s.logFile = base, o.Dir, filepath.Join(base, "log")
	if s.dir == "" {
		s.dir = filepath.Join(base, "data")
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	passwords := filepath.Join(base, "password")
	s.write(passwords, Password+"\n")
	for _, path := range []string{base, s.dir, passwords} {
		s.give(path)
	}
	auth := o.Auth
	if auth == "" {
		auth = "trust"
	}
	s.initialize(auth, passwords, o.Dir != "")
	s.configure(o)
	s.URL = fmt.Sprintf("postgres://%s@127.0.0.1:%d/postgres", User, s.Port)
	s.Run()
	t.Cleanup(s.Kill)
	return s
}

// Binary returns the path of one of PostgreSQL's programs; the newest version
// that Debian's packages or the PATH have.
func Binary(t testing.TB, name string) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1]
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s of PostgreSQL: %v (this test needs it)", name, err)
	}
	return path
}

// owner is whom the server runs as, since it refuses to run as root; nil for
// whoever runs the test.
func owner(t testing.TB) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		t.Fatal(err)
	}
	uid, errU := strconv.ParseUint(u.Uid, 10, 32)
	gid, errG := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(errU, errG); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *Server) write(path, text string) {
	s.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// give makes a file or folder the server's.
func (s *Server) give(path string) {
	s.t.Helper()
	if s.owner == nil {
		return
	}
	if err := os.Chown(path, int(s.owner.Uid), int(s.owner.Gid)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	s.t.Helper()
	cmd := exec.CommandContext(ctx, Binary(s.t, name), args...)
	cmd.Dir = s.Socket
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	return cmd
}

func (s *Server) initialize(auth, passwords string, logApart bool) {
	s.t.Helper()
	cmd := s.command(context.Background(), "initdb", "--pgdata", s.dir, "--username", User, "--pwfile", passwords,
		"--auth", auth, "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	if logApart {
		cmd.Args = append(cmd.Args, "--waldir", filepath.Join(s.Socket, "wal"))
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("initdb: %v\n%s", err, out)
	}
}

func (s *Server) configure(o Options) {
	s.t.Helper()
	lines := []string{
		"listen_addresses = '127.0.0.1'", fmt.Sprintf("port = %d", s.Port), fmt.Sprintf("unix_socket_directories = '%s'", s.Socket),
		"fsync = off", "synchronous_commit = off", "full_page_writes = off", "shared_buffers = 64MB", "max_wal_size = 1GB",
		"logging_collector = off", "max_connections = 60",
	}
	if o.TLS {
		s.CA = filepath.Join(s.Socket, "ca.pem")
		certificate(s)
		lines = append(lines, "ssl = on", fmt.Sprintf("ssl_cert_file = '%s/server.pem'", s.Socket), fmt.Sprintf("ssl_key_file = '%s/server.key'", s.Socket))
	}
	path := filepath.Join(s.dir, "postgresql.auto.conf")
	s.write(path, strings.Join(append(lines, o.Settings...), "\n")+"\n")
	s.give(path)
}

// Run starts the server, for the first time or again, and waits until it
// answers.
func (s *Server) Run() {
	s.t.Helper()
	log, err := os.OpenFile(s.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	cmd := s.command(context.Background(), "postgres", "-D", s.dir)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	done := make(chan struct{})
	s.cmd, s.done = cmd, done
	go func() {
		defer close(done)
		_ = cmd.Wait()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		ready := s.command(ctx, "pg_isready", "-q", "-U", User, "-d", "postgres", "-h", s.Socket, "-p", strconv.Itoa(s.Port))
		if ready.Run() == nil {
			return
		}
		select {
		case <-done:
			s.t.Fatalf("the server ended at once:\n%s", s.Log())
		case <-ctx.Done():
			s.t.Fatalf("the server does not answer:\n%s", s.Log())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Kill ends the server as a crash would, with all that it started.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Stop ends the server cleanly, whatever its clients do.
func (s *Server) Stop() { s.end(syscall.SIGINT) }

func (s *Server) end(signal syscall.Signal) {
	if s.cmd == nil {
		return
	}
	var with []int
	if signal == syscall.SIGKILL {
		// Its children notice that it is gone, but not at once where they wait for
		// a client; a new server refuses to start while they share its memory.
		with = children(s.cmd.Process.Pid)
	}
	_ = s.cmd.Process.Signal(signal)
	<-s.done
	s.cmd = nil
	for _, pid := range with {
		_ = syscall.Kill(pid, signal)
	}
	for _, pid := range with {
		for range 1000 {
			if gone(pid) {
				break
			}
			<-time.After(5 * time.Millisecond)
		}
	}
}

// gone says whether a process has ended, even where nobody has asked how.
func gone(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, found := strings.Cut(string(text), ") ")
	return err != nil || !found || strings.HasPrefix(state, "Z")
}

func children(pid int) (pids []int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	for _, f := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(f); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

// PID is the process id of the server's main process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Log returns what the server printed.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.logFile)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Database returns the URL of another database, by TCP.
func (s *Server) Database(name string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s", User, s.Port, name)
}

// SocketDatabase returns the URL of a database by the Unix socket.
func (s *Server) SocketDatabase(name string) string {
	u := url.URL{Scheme: "postgres", User: url.User(User), Path: "/" + name,
		RawQuery: url.Values{"host": {s.Socket}, "port": {strconv.Itoa(s.Port)}}.Encode()}
	return u.String()
}
