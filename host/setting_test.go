package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// plant writes files below a new root and returns it.
func plant(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if to, isLink := strings.CutPrefix(text, "-> "); isLink {
			if err := os.Symlink(to, full); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func content(t testing.TB, root, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func mustSetting(t testing.TB, spec SettingSpec) Setting {
	t.Helper()
	s, err := NewSetting(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewSettingRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spec SettingSpec
		want string
	}{
		"kind":             {SettingSpec{Kind: "systcl", Target: "a.b", Value: "1"}, `kind "systcl"; expected one of sysctl, file, governor, command, ethtool`},
		"sysctl empty":     {SettingSpec{Kind: "sysctl", Value: "1"}, `key ""`},
		"sysctl up":        {SettingSpec{Kind: "sysctl", Target: "kernel/../../etc/x", Value: "1"}, "expected names joined by dots"},
		"sysctl no value":  {SettingSpec{Kind: "sysctl", Target: "vm.swappiness"}, `value ""; expected one line`},
		"file elsewhere":   {SettingSpec{Kind: "file", Target: "/etc/passwd", Value: "x"}, "expected one below /sys or /proc"},
		"file up":          {SettingSpec{Kind: "file", Target: "/sys/../etc/passwd", Value: "x"}, "expected one below /sys or /proc"},
		"file relative":    {SettingSpec{Kind: "file", Target: "sys/kernel/x", Value: "x"}, "expected one below /sys or /proc"},
		"file two lines":   {SettingSpec{Kind: "file", Target: "/sys/a", Value: "x\ny"}, "expected one line"},
		"governor value":   {SettingSpec{Kind: "governor", Value: "power save"}, "expected one name"},
		"governor cores":   {SettingSpec{Kind: "governor", Target: "0-x", Value: "performance"}, "or all"},
		"command apply":    {SettingSpec{Kind: "command", Target: "tso", Value: "on", Read: []string{"x"}}, "apply has no command"},
		"command read":     {SettingSpec{Kind: "command", Target: "tso", Value: "on", Apply: []string{"x", "{value}"}}, "read has no command"},
		"command restore":  {SettingSpec{Kind: "command", Target: "tso", Value: "on", Apply: []string{"x"}, Read: []string{"x"}}, "restore has no command"},
		"command no value": {SettingSpec{Kind: "command", Target: "tso", Apply: []string{"x", "{value}"}, Read: []string{"x"}}, "value is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewSetting(c.spec)
			if err == nil || s != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("NewSetting = %v, %v; want an error with %q", s, err, c.want)
			}
		})
	}
}

func TestSysctlPath(t *testing.T) {
	for key, want := range map[string]string{
		"net.core.somaxconn":                "/proc/sys/net/core/somaxconn",
		"net/core/somaxconn":                "/proc/sys/net/core/somaxconn",
		"net/ipv4/conf/eth0.100/forwarding": "/proc/sys/net/ipv4/conf/eth0.100/forwarding",
		"net.ipv4.conf.eth0/100.forwarding": "/proc/sys/net/ipv4/conf/eth0.100/forwarding",
	} {
		if got, err := sysctlPath(key); err != nil || got != want {
			t.Errorf("sysctlPath(%q) = %q, %v; want %q", key, got, err, want)
		}
	}
}

func TestFileSettingAppliesAndRestores(t *testing.T) {
	for name, c := range map[string]struct {
		spec   SettingSpec
		file   string
		before string // the file's text
		read   string // the value
		after  string // the file's text once restored
	}{
		"sysctl": {SettingSpec{Kind: "sysctl", Target: "vm.swappiness", Value: "10"}, "proc/sys/vm/swappiness", "60\n", "60", "60\n"},
		"tabs": {
			SettingSpec{Kind: "sysctl", Target: "net.ipv4.tcp_rmem", Value: "4096 65536  131072"},
			"proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n", "4096\t131072\t6291456", "4096\t131072\t6291456\n",
		},
		"choice": {
			SettingSpec{Kind: "file", Target: "/sys/kernel/mm/transparent_hugepage/enabled", Value: "never"},
			"sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n", "madvise", "madvise\n",
		},
		"empty before": {SettingSpec{Kind: "file", Target: "/sys/a", Value: "x"}, "sys/a", "\n", "", "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			root := plant(t, map[string]string{c.file: c.before})
			c.spec.Root = root
			s := mustSetting(t, c.spec)
			before, err := s.Read(t.Context())
			if err != nil || before != c.read {
				t.Fatalf("Read = %q, %v; want %q", before, err, c.read)
			}
			if err := s.Apply(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := content(t, root, c.file); got != c.spec.Value+"\n" {
				t.Errorf("after Apply the file holds %q; want %q", got, c.spec.Value)
			}
			if err := s.Restore(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			if got := content(t, root, c.file); got != c.after {
				t.Errorf("after Restore the file holds %q; want %q", got, c.after)
			}
		})
	}
}

func TestFileSettingFaults(t *testing.T) {
	root := plant(t, map[string]string{"sys/lines": "a\nb\n", "sys/dir/x": ""})
	several := mustSetting(t, SettingSpec{Kind: "file", Target: "/sys/lines", Value: "a", Root: root})
	if _, err := several.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "found 2 lines") {
		t.Errorf("Read of a file with two lines: %v", err)
	}
	absent := mustSetting(t, SettingSpec{Kind: "sysctl", Target: "vm.swapiness", Value: "1", Root: root})
	err := absent.Apply(t.Context())
	var se *SettingError
	if !errors.As(err, &se) || !errors.Is(err, os.ErrNotExist) || se.Path != "/proc/sys/vm/swapiness" || se.Asked != "1" ||
		!strings.Contains(err.Error(), "check the spelling") {
		t.Errorf("Apply to a key that is not there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "proc/sys/vm/swapiness")); err == nil {
		t.Error("Apply made a file that was not there")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped by the user"))
	if err := several.Apply(ctx); err == nil || !strings.Contains(err.Error(), "stopped by the user") {
		t.Errorf("Apply with a context that is done: %v", err)
	}
}

// A link must not lead a setting to a file that is not the kernel's.
func TestFileSettingLeadingAstray(t *testing.T) {
	root := plant(t, map[string]string{
		"etc/passwd": "root\n", "proc/self/root": "-> ../..", "sys/block/sda": "-> ../devices/sda", "sys/devices/sda/size": "1\n",
	})
	astray := mustSetting(t, SettingSpec{Kind: "file", Target: "/proc/self/root/etc/passwd", Value: "x", Root: root})
	if _, err := astray.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "it leads to /etc/passwd") {
		t.Errorf("Read: %v", err)
	}
	if err := astray.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "it leads to /etc/passwd") {
		t.Errorf("Apply: %v", err)
	}
	if got := content(t, root, "etc/passwd"); got != "root\n" {
		t.Errorf("the file holds %q now", got)
	}
	linked := mustSetting(t, SettingSpec{Kind: "file", Target: "/sys/block/sda/size", Value: "2", Root: root})
	if err := linked.Apply(t.Context()); err != nil {
		t.Errorf("Apply through a link inside: %v", err)
	}
	real := mustSetting(t, SettingSpec{Kind: "file", Target: "/proc/self/root/etc/hostname", Value: "x"})
	if err := real.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "it leads to /etc/hostname") {
		t.Errorf("Apply by the kernel's own link: %v", err)
	}
}

// A file whose device is stuck answers neither reads nor writes.
func TestHungFile(t *testing.T) {
	root := plant(t, map[string]string{"sys/x": ""})
	fifo := filepath.Join(root, "sys/stuck")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	s := mustSetting(t, SettingSpec{Kind: "file", Target: "/sys/stuck", Value: "1", Root: root, TimeoutSeconds: 0.05})
	if _, err := s.Read(t.Context()); !errors.Is(err, errHung) || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("Read of a stuck file: %v; want that it did not answer", err)
	}
	if err := s.Apply(t.Context()); !errors.Is(err, errHung) {
		t.Errorf("Apply to a stuck file: %v; want that it did not answer", err)
	}
	release(t, fifo)
}

// release lets go of what waits for a named pipe, as a device that recovers.
func release(t *testing.T, fifo string) {
	t.Helper()
	f, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestFileSettingEqual(t *testing.T) {
	module := fileSetting{path: "/sys/module/kvm/parameters/x"}
	other := fileSetting{path: "/sys/kernel/x"}
	for _, c := range []struct {
		s            fileSetting
		found, asked string
		want         bool
	}{
		{module, "Y", "1", true},
		{module, "N", "0", true},
		{module, "Y", "y", true},
		{module, "N", "1", false},
		{module, "10", "10", true},
		{module, "Y", "11", false},
		{other, "Y", "1", false},
		{other, "1\t2", "1 2", true},
		{other, "1", "01", false},
	} {
		if got := c.s.equal(c.found, c.asked); got != c.want {
			t.Errorf("%s: found %q, asked %q: equal = %v; want %v", c.s.path, c.found, c.asked, got, c.want)
		}
	}
}

func TestSelected(t *testing.T) {
	for in, want := range map[string]string{
		"always [madvise] never": "madvise", "[none] mq-deadline": "none", "none": "", "[a] [b]": "", "": "", "[": "", "[]": "",
	} {
		word, choices, ok := selected(in)
		if word != want || ok != (want != "") {
			t.Errorf("selected(%q) = %q, %v; want %q", in, word, ok, want)
		}
		if !ok && choices != nil || ok && strings.Contains(strings.Join(choices, " "), "[") {
			t.Errorf("selected(%q): choices %q still have brackets", in, choices)
		}
	}
}

func FuzzSelected(f *testing.F) {
	f.Add("always [madvise] never")
	f.Add("[")
	f.Fuzz(func(t *testing.T, s string) {
		if word, choices, ok := selected(s); ok && (word == "" || len(choices) != len(strings.Fields(s))) {
			t.Errorf("selected(%q) = %q, %q", s, word, choices)
		}
	})
}

func governors(names ...string) map[string]string {
	files := map[string]string{}
	for i, name := range names {
		dir := cpuDir[1:] + "/cpu" + string(rune('0'+i)) + "/"
		files[dir+"online"] = "1\n"
		if name != "" {
			files[dir+"cpufreq/scaling_governor"] = name + "\n"
			files[dir+"cpufreq/scaling_available_governors"] = "performance powersave \n"
		}
	}
	return files
}

func TestGovernor(t *testing.T) {
	for name, c := range map[string]struct {
		cores  []string
		target string
		read   string
		after  []string
	}{
		"all alike":   {[]string{"powersave", "powersave"}, "all", "powersave", []string{"performance", "performance"}},
		"mixed":       {[]string{"powersave", "schedutil", "powersave"}, "", "powersave:0,2 schedutil:1", []string{"performance", "performance", "performance"}},
		"some":        {[]string{"powersave", "powersave", "schedutil"}, "1-2", "powersave:1 schedutil:2", []string{"powersave", "performance", "performance"}},
		"one offline": {[]string{"powersave", "", "powersave"}, "all", "powersave", []string{"performance", "", "performance"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := plant(t, governors(c.cores...))
			s := mustSetting(t, SettingSpec{Kind: "governor", Target: c.target, Value: "performance", Root: root})
			before, err := s.Read(t.Context())
			if err != nil || before != c.read {
				t.Fatalf("Read = %q, %v; want %q", before, err, c.read)
			}
			check := func(when string, want []string) {
				for i, w := range want {
					if w != "" && content(t, root, governorFile(i)) != w+"\n" {
						t.Errorf("%s: core %d has %q; want %q", when, i, content(t, root, governorFile(i)), w)
					}
				}
			}
			if err := s.Apply(t.Context()); err != nil {
				t.Fatal(err)
			}
			check("after Apply", c.after)
			if err := s.Restore(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			check("after Restore", c.cores)
		})
	}
}

func TestGovernorFaults(t *testing.T) {
	none := mustSetting(t, SettingSpec{Kind: "governor", Value: "performance", Root: plant(t, governors("", ""))})
	if err := none.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "a virtual machine has no say") {
		t.Errorf("without cpufreq: %v", err)
	}
	missing := mustSetting(t, SettingSpec{Kind: "governor", Target: "0-3", Value: "performance", Root: plant(t, governors("powersave", "powersave"))})
	if err := missing.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "processors 2-3 have none; those that have: 0-1") {
		t.Errorf("with cores that are not there: %v", err)
	}
}

// What Read says of any mixture of governors, Restore puts back.
func TestGovernorRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cores := rapid.SliceOfN(rapid.SampledFrom([]string{"powersave", "performance", "schedutil"}), 1, 9).Draw(rt, "cores")
		all := CPUs{}
		by := map[string]CPUs{}
		for i, name := range cores {
			all = append(all, i)
			by[name] = append(by[name], i)
		}
		text := byCPU(by, func(name string, c CPUs) string { return name + ":" + c.String() }, " ")
		got, err := perCPU(text, all)
		if err != nil {
			rt.Fatal(err)
		}
		for i, name := range cores {
			if got[i] != name {
				rt.Fatalf("%q gives core %d %q; want %q", text, i, got[i], name)
			}
		}
	})
}

func TestCommandSetting(t *testing.T) {
	file := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(file, []byte("old  text\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	write := []string{"sh", "-c", `printf '%s\n' "$1" > "$2"`, "sh"}
	for name, spec := range map[string]SettingSpec{
		"restore by apply":   {Apply: append(write, "{value}", file)},
		"restore by its own": {Apply: append(write, "{value}", file), Restore: append(write, "{before}", file)},
	} {
		t.Run(name, func(t *testing.T) {
			spec.Kind, spec.Target, spec.Value, spec.Read = "command", "thing", "new; text", []string{"cat", file}
			s := mustSetting(t, spec)
			before, err := s.Read(t.Context())
			if err != nil || before != "old  text" {
				t.Fatalf("Read = %q, %v", before, err)
			}
			if err := s.Apply(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := content(t, "/", file); got != "new; text\n" {
				t.Errorf("after Apply: %q", got)
			}
			if err := s.Restore(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			if got := content(t, "/", file); got != "old  text\n" {
				t.Errorf("after Restore: %q", got)
			}
		})
	}
}

func TestCommandSettingFaults(t *testing.T) {
	spec := func(apply, read string) SettingSpec {
		return SettingSpec{
			Kind: "command", Target: "thing", Value: "on",
			Apply: []string{"sh", "-c", apply}, Read: []string{"sh", "-c", read}, Restore: []string{"true"},
		}
	}
	slow := spec("sleep 60", "echo on")
	slow.TimeoutSeconds = 0.2
	for name, c := range map[string]struct {
		spec SettingSpec
		want []string
	}{
		"fails":      {spec("echo no such thing >&2; exit 3", "echo on"), []string{"exit status 3", "it said: no such thing", "setting thing (sh -c 'echo no"}},
		"no effect":  {spec("true", "echo off"), []string{`to "on"`, `reads "off" afterwards`, "sh -c 'echo off'"}},
		"never ends": {slow, []string{"killed: no end within 200ms"}},
		"floods":     {spec("true", "head -c 1000000 /dev/zero"), []string{"printed more than 64 KiB"}},
		"not there":  {SettingSpec{Kind: "command", Target: "x", Value: "1", Apply: []string{"/no/such/{value}"}, Read: []string{"true"}}, []string{"/no/such/1", "no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := mustSetting(t, c.spec).Apply(t.Context())
			for _, w := range c.want {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("Apply: %v; want an error with %q", err, w)
				}
			}
		})
	}
}

// A command that is cut off takes its children with it.
func TestCommandKilledWithChildren(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // cuts it off when the child is there
		for ctx.Err() == nil {
			if text, err := os.ReadFile(pidFile); err == nil && strings.HasSuffix(string(text), "\n") {
				cancel()
			}
			pause(ctx, time.Millisecond, nil)
		}
	}()
	_, _, err := command{argv: []string{"sh", "-c", "sleep 60 & echo $! > " + pidFile + "; wait"}}.run(ctx)
	if err == nil {
		t.Fatal("a command cut off has no error")
	}
	pid := strings.TrimSpace(content(t, "/", pidFile))
	await(t, "the child to be gone", func() bool {
		_, err := os.Stat("/proc/" + pid + "/exe")
		return err != nil
	})
}

// await polls until a condition holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("gave up waiting for %s", what)
		case <-tick.C:
		}
	}
}

func TestQuoted(t *testing.T) {
	for want, argv := range map[string][]string{
		"ls -l":          {"ls", "-l"},
		"sh -c 'a b'":    {"sh", "-c", "a b"},
		`echo 'it'\''s'`: {"echo", "it's"},
		`echo "a\nb"`:    {"echo", "a\nb"},
		"echo ''":        {"echo", ""},
	} {
		if got := quoted(argv); got != want {
			t.Errorf("quoted(%q) = %s; want %s", argv, got, want)
		}
	}
}

// TestKernelSetting sets files of the running kernel, of a loop device that
// nobody uses, where there is one and this user may.
func TestKernelSetting(t *testing.T) {
	const queue = "/sys/block/loop7/queue/"
	if data, err := os.ReadFile("/sys/block/loop7/size"); os.Geteuid() != 0 || err != nil || strings.TrimSpace(string(data)) != "0" {
		t.Skip("needs root and an idle /dev/loop7")
	}
	depth := mustSetting(t, SettingSpec{Kind: "file", Target: queue + "read_ahead_kb", Value: "64"})
	before, err := depth.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := depth.Restore(context.Background(), before); err != nil {
			t.Error(err)
		}
	})
	if err := depth.Apply(t.Context()); err != nil {
		t.Error(err)
	}
	// The kernel keeps whole pages only: what it rounds is not in effect.
	odd := mustSetting(t, SettingSpec{Kind: "file", Target: queue + "read_ahead_kb", Value: "5"})
	if err := odd.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), `to "5": it was taken, but reads "4" afterwards`) {
		t.Errorf("a value that the kernel rounds: %v", err)
	}
	bogus := mustSetting(t, SettingSpec{Kind: "file", Target: queue + "scheduler", Value: "bogus"})
	if err := bogus.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "invalid argument; the kernel offers: none") {
		t.Errorf("a scheduler that is not there: %v", err)
	}
	readOnly := mustSetting(t, SettingSpec{Kind: "file", Target: "/sys/block/loop7/size", Value: "1"})
	if err := readOnly.Apply(t.Context()); err == nil || !errors.Is(err, os.ErrPermission) {
		t.Errorf("a file that only reads: %v", err)
	}
}
