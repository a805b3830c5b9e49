// Package mariadbtest starts real MariaDB servers for tests, each with a data
// directory, a socket and a port of its own.
package mariadbtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Root is the user that every server has, without a password, on its socket and
// on the loopback.
const Root = "root"

// Options of a server. The zero value is one that takes anything in the clear.
type Options struct {
	Args []string // further ones of mariadbd, as "--max-connections=5"
	// TLS has the server take TLS connections as well, with a certificate for
	// 127.0.0.1 and localhost that Server.CA signed.
	TLS bool
	// DataDir is where its data goes; a temporary folder without it. It must be
	// empty or missing.
	DataDir string
}

// A Server is a MariaDB server that ends with the test.
type Server struct {
	Socket  string // path of its Unix socket
	Port    int    // on 127.0.0.1
	DataDir string
	CA      string // file of the certificate that signed the server's; "" without TLS

	t    testing.TB
	dir  string
	args []string
	log  string
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has ended
}

// Start starts a server with what makes tests fast: no fsync, a small log. The
// test fails where Debian's mariadb-server is missing, and is skipped under -short.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a MariaDB server")
	}
	// A socket's path has 107 bytes at most: not below the test's own folder.
	dir, err := os.MkdirTemp("", "mariadb")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, dir: dir, Socket: filepath.Join(dir, "s"), DataDir: o.DataDir, log: filepath.Join(dir, "log"), Port: freePort(t)}
	t.Cleanup(func() {
		s.Kill()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if s.DataDir == "" {
		s.DataDir = filepath.Join(dir, "data")
	}
	s.install()
	s.args = append([]string{
		"--no-defaults", "--datadir=" + s.DataDir, "--socket=" + s.Socket, "--bind-address=127.0.0.1",
		"--port=" + strconv.Itoa(s.Port), "--pid-file=" + filepath.Join(dir, "pid"), "--innodb-log-file-size=96M",
		"--tmpdir=" + dir, // a server that starts removes the temporary files of others that share its folder
		"--innodb-flush-log-at-trx-commit=0", "--skip-name-resolve",
	}, asRoot()...)
	if o.TLS {
		s.args = append(s.args, s.certify()...)
	}
	s.args = append(s.args, o.Args...)
	s.Run()
	return s
}

// asRoot is what mariadbd wants to hear before it runs as root.
func asRoot() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

func (s *Server) install() {
	s.t.Helper()
	args := append([]string{"--no-defaults", "--datadir=" + s.DataDir, "--auth-root-authentication-method=normal",
		"--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=8M"}, asRoot()...)
	cmd := exec.CommandContext(s.t.Context(), "mariadb-install-db", args...)
	cmd.Env = append(cmd.Environ(), "TMPDIR="+s.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("mariadb-install-db (Debian: mariadb-server): %v\n%s", err, out)
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// Run starts the server, for the first time or again, and waits until it takes
// connections.
func (s *Server) Run() {
	s.t.Helper()
	path, err := exec.LookPath("mariadbd")
	if err != nil {
		path = "/usr/sbin/mariadbd" // where Debian puts it, outside the PATH of a user
	}
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(path, s.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	gone, started := make(chan struct{}), make(chan error)
	go func() {
		// The signal comes when the thread that started the server ends, so this
		// one must not end before it.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(gone)
	}()
	if err := <-started; err != nil {
		s.t.Fatalf("starting mariadbd (Debian: mariadb-server): %v", err)
	}
	s.cmd, s.gone = cmd, gone
	if err := s.awaitUp(); err != nil {
		s.Kill()
		s.t.Fatalf("%v\n%s", err, s.Log())
	}
}

func (s *Server) awaitUp() error {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := net.Dial("unix", s.Socket)
		if err == nil {
			return c.Close()
		}
		select {
		case <-tick.C:
		case <-s.gone:
			return fmt.Errorf("mariadbd ended: %v", s.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("mariadbd does not come up: %w", err)
		}
	}
}

// Kill ends the server as a crash does.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Stop ends the server in order.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

func (s *Server) end(sig syscall.Signal) {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(sig) // it may have ended by itself
	<-s.gone
	s.cmd = nil
}

// PID is the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Log is what the server has written to its log.
func (s *Server) Log() string {
	b, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// SQL has the server's own client run statements as Root and returns what it
// printed, columns divided by tabs, without the names of the columns.
func (s *Server) SQL(statements string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "mariadb", "--no-defaults", "--socket="+s.Socket, "--user="+Root, "--batch", "--skip-column-names")
	cmd.Stdin = bytes.NewBufferString(statements)
	var out, fault bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &fault
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%s: %v: %s", statements, err, fault.Bytes())
	}
	return out.String()
}

// Address is the server's TCP address.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)) }
