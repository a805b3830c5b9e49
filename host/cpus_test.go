package host

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseCPUs(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " ": "", "0": "0", "0-3,8": "0-3,8", "8,0-3": "0-3,8", "0-3\n": "0-3", "1,2,3": "1-3", "0-1,1-2": "0-2",
		"0, 2": "0,2", "5-5": "5", "8191": "8191",
	} {
		got, err := ParseCPUs(in)
		if err != nil || got.String() != want {
			t.Errorf("ParseCPUs(%q) = %s, %v; want %s", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"a": `found "a"`, "0-": `found ""`, "-1": `found ""`, "3-0": "write 0-3", "0,,1": `found ""`, "8192": `found "8192"`,
		"0-3/2": `found "3/2"`, "0x1": `found "0x1"`, "+1": `found "+1"`,
	} {
		if _, err := ParseCPUs(in); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), in) {
			t.Errorf("ParseCPUs(%q): error %v; want one with %q", in, err, want)
		}
	}
}

func cpusGen() *rapid.Generator[CPUs] {
	return rapid.Custom(func(t *rapid.T) CPUs {
		c := CPUs(rapid.SliceOfN(rapid.IntRange(0, 70), 0, 20).Draw(t, "cpus"))
		slices.Sort(c)
		return slices.Compact(c)
	})
}

func TestCPUsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := cpusGen().Draw(t, "a"), cpusGen().Draw(t, "b")
		back, err := ParseCPUs(a.String())
		if err != nil || !slices.Equal(a, back) {
			t.Fatalf("%v written as %q reads as %v, %v", a, a, back, err)
		}
		without, and, or := a.Without(b), a.And(b), a.Or(b)
		if !slices.Equal(without.Or(and), a) {
			t.Fatalf("%v: without %v is %v and with it %v; together they must be all", a, b, without, and)
		}
		if len(or) != len(without)+len(b) {
			t.Fatalf("%v or %v = %v", a, b, or)
		}
	})
}

func FuzzParseCPUs(f *testing.F) {
	for _, s := range []string{"0-3,8", "", "1-", "8191", "0-8191,3", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseCPUs(s)
		if err != nil {
			return
		}
		again, err := ParseCPUs(c.String())
		if err != nil || !slices.Equal(c, again) {
			t.Errorf("%q reads as %v, which written %q reads as %v, %v", s, []int(c), c, []int(again), err)
		}
	})
}

func TestPinThread(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine, its binding with it
		if err := PinThread(CPUs{0}); err != nil {
			t.Errorf("PinThread(0): %v", err)
		}
		if err := PinThread(nil); err == nil {
			t.Error("PinThread of no processor succeeded")
		}
		if err := PinThread(CPUs{8190}); err == nil || !strings.Contains(err.Error(), "8190") {
			t.Errorf("PinThread(8190) = %v; want an error that names it", err)
		}
	}()
	<-done
}
