// Package mariadbtest starts a MariaDB server for a test, with a data directory,
// a socket and a port of its own, and ends it with the test.
package mariadbtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Root is the user that every server has, without a password, on its socket and
// on the loopback.
const Root = "root"

// A Server is a running mariadbd.
type Server struct {
	Socket  string // path of its Unix socket
	Port    int    // on 127.0.0.1
	DataDir string

	t    testing.TB
	dir  string
	args []string
	cmd  *exec.Cmd
	log  *bytes.Buffer
	gone chan struct{} // closed when the process has ended
}

// Start installs a data directory and starts a server on it. More arguments of
// mariadbd may be given. The test fails where Debian's mariadb-server is missing,
// and is skipped in short mode.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := Install(t, args...)
	s.Run()
	return s
}

// Install makes the data directory of a server that is still to be run.
func Install(t testing.TB, args ...string) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a server")
	}
	// A socket's path must be short, which a test's own directory may not be.
	dir, err := os.MkdirTemp("", "bakeoff-mariadb-")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, dir: dir, Socket: filepath.Join(dir, "s"), DataDir: filepath.Join(dir, "data"), Port: freePort(t)}
	t.Cleanup(func() {
		s.Kill()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s.args = append([]string{
		"--no-defaults", "--datadir=" + s.DataDir, "--socket=" + s.Socket, "--bind-address=127.0.0.1",
		"--port=" + strconv.Itoa(s.Port), "--pid-file=" + filepath.Join(dir, "pid"), "--innodb-log-file-size=96M",
		"--innodb-flush-log-at-trx-commit=0", "--skip-name-resolve", "--local-infile=1",
	}, args...)
	if os.Geteuid() == 0 {
		s.args = append(s.args, "--user=root")
	}
	install := []string{"--no-defaults", "--datadir=" + s.DataDir, "--auth-root-authentication-method=normal",
		"--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=8M"}
	if os.Geteuid() == 0 {
		install = append(install, "--user=root")
	}
	if out, err := exec.CommandContext(t.Context(), "mariadb-install-db", install...).CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db (Debian: mariadb-server): %v\n%s", err, out)
	}
	return s
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

// Run starts the server, again after Kill or Stop, and waits until it takes connections.
func (s *Server) Run() {
	s.t.Helper()
	path, err := exec.LookPath("mariadbd")
	if err != nil {
		path = "/usr/sbin/mariadbd" // where Debian puts it, outside the PATH of a user
	}
	s.log = &bytes.Buffer{}
	s.cmd = exec.Command(path, s.args...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("starting mariadbd (Debian: mariadb-server): %v", err)
	}
	s.gone = make(chan struct{})
	go func() {
		_ = s.cmd.Wait()
		close(s.gone)
	}()
	if err := s.awaitUp(); err != nil {
		s.Kill()
		s.t.Fatalf("%v\n%s", err, s.log)
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
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(sig) // it may have ended by itself
	<-s.gone
	s.cmd = nil
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
