package host

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNamespaceErrorsSayHowToMend(t *testing.T) {
	for want, err := range map[string]error{
		`there is no network namespace "bakeoff-none"`:         InNamespace("bakeoff-none", func() error { return nil }),
		"ip netns add bakeoff-none":                            InNamespace("bakeoff-none", func() error { return nil }),
		"expected a name of those that ip netns lists":         InNamespace("../../proc/self/ns/net", func() error { return nil }),
		`entering the network namespace "x" needs root`:        &NamespaceError{"x", syscall.EPERM},
		"start it inside (ip netns exec x)":                    &NamespaceError{"x", os.ErrPermission},
		`entering the network namespace "x": invalid argument`: &NamespaceError{"x", syscall.EINVAL},
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %q", err, want)
		}
	}
	var closed *NamespaceError
	if err := InNamespace("bakeoff-none", func() error { return nil }); !errors.As(err, &closed) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %#v", err)
	}
}

// The first thread's namespaces count for the process: it must never move.
func TestOnThreadIsNeverTheFirst(t *testing.T) {
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			err := OnThread(func() error {
				if unix.Gettid() == os.Getpid() {
					return errors.New("this is the first thread")
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := OnThread(func() error { return errors.New("as it is") }); err == nil || err.Error() != "as it is" {
		t.Errorf("got %v", err)
	}
}

func TestSettingsThatBelongToTheirNamespace(t *testing.T) {
	for want, specs := range map[bool][]SettingSpec{
		true: {{Kind: "sysctl", Target: "net.ipv4.tcp_sack"}, {Kind: "file", Target: "/sys/class/net/eth0/mtu"}, {Kind: "file", Target: "/proc/sys/net/ipv4/tcp_sack"},
			{Kind: "ethtool", Target: "eth0"}, {Kind: "qdisc", Target: "eth0"}},
		false: {{Kind: "sysctl", Target: "vm.swappiness"}, {Kind: "file", Target: "/sys/kernel/mm/transparent_hugepage/enabled"},
			{Kind: "governor"}, {Kind: "irqbalance"}, {Kind: "irq", Target: "eth0"}, {Kind: "command", Target: "x"}},
	} {
		for _, s := range specs {
			if got := InNetworkNamespace(s); got != want {
				t.Errorf("%s %s: %t", s.Kind, s.Target, got)
			}
		}
	}
}
