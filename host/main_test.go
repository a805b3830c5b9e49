package host

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// childVar makes this test's program play a server, as its value says.
const childVar = "BAKEOFF_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childVar); role != "" {
		play(role, os.Args[1:])
		return
	}
	goleak.VerifyTestMain(m)
}

// play is a server with bad manners. args: address, then a file for PIDs.
func play(role string, args []string) {
	switch role {
	case "die":
		fmt.Fprintln(os.Stderr, "first line\nFATAL: cannot open dump.rdb")
		os.Exit(3)
	case "leave":
		fmt.Println("going to the background")
		os.Exit(0)
	case "mute": // never listens
		waitForever()
	case "loading":
		serve(args[0], func(c net.Conn) { fmt.Fprint(c, "-LOADING Redis is loading the dataset in memory\r\n") })
	case "stubborn": // ignores what asks it to end, and so do its children
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		spawn("mute-stubborn", false, args)
		spawn("mute-stubborn", true, args) // leaves session and group
		serve(args[0], nil)
	case "stubborn-alone":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		serve(args[0], nil)
	case "mute-stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		waitForever()
	case "wrapper": // ends at once when asked; its child takes a moment
		spawn("slow-end", false, args)
		serve(args[0], nil)
	case "slow-end":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("child is up")
		<-c
		fmt.Println("child is done")
	case "rebind": // moves itself away from where it was put
		if err := PinThread(CPUs{0, 1}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		serve(args[0], nil)
	case "bakeoff": // starts a service, then waits to be killed
		s, err := StartService(context.Background(), ServiceSpec{
			Name: "victim", PIDFile: args[1], Endpoint: "tcp://" + args[0],
			Command: []string{os.Args[0], args[0], args[1]}, Env: map[string]string{childVar: "stubborn"},
		})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("started", s.PIDs())
		waitForever()
	}
}

func spawn(role string, newSession bool, args []string) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childVar+"="+role)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: newSession}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(address string, each func(net.Conn)) {
	network := "tcp"
	if strings.HasPrefix(address, "/") {
		network = "unix"
	}
	l, err := net.Listen(network, address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		if each != nil {
			each(c)
		}
		c.Close()
	}
}

// waitForever waits for a signal; a channel alone would be a deadlock to Go.
func waitForever() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	<-c
}
