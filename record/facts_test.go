package record

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fullFacts fills every field of Facts with a value of its own, so that a
// field that is forgotten somewhere is found out.
func fullFacts(t *testing.T) Facts {
	t.Helper()
	var f Facts
	n := 0
	fill(reflect.ValueOf(&f).Elem(), "", &n)
	f.Taken = time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
	return f
}

func fill(v reflect.Value, name string, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name, n)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), v.Type().Field(i).Name, n)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), name, n)
		fill(v.Index(1), name, n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, k := range []string{"b.key", "a.key"} {
			*n++
			v.SetMapIndex(reflect.ValueOf(k), reflect.ValueOf(name+strconv.Itoa(*n)))
		}
	case reflect.String:
		v.SetString(name + strconv.Itoa(*n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	case reflect.Bool:
		v.SetBool(false)
	}
}

func TestFactsRoundTrip(t *testing.T) {
	for name, want := range map[string]Facts{
		"full":  fullFacts(t),
		"empty": {},
		// A true zero must not become an absent one, nor the reverse.
		"zeros": {Memory: Memory{SwapBytes: new(int64(0))}, CPU: CPU{Boost: new(false)}, State: State{Load1: new(0.0)}},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			var got Facts
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after a round trip through JSON (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmptyFactsHaveNoFacts(t *testing.T) {
	if got := (Facts{Host: "a", Taken: time.Unix(1, 0)}).Flatten(); len(got) != 0 {
		t.Errorf("Flatten of facts with nothing found = %v; want none", got)
	}
	data, err := json.Marshal(Facts{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(data), `{"host":"","taken":"0001-01-01T00:00:00Z"}`; got != want {
		t.Errorf("JSON of empty facts = %s; want %s", got, want)
	}
}

func TestFlatten(t *testing.T) {
	f := Facts{
		Host:        "a",
		Machine:     Machine{Model: "M1", Serial: "S1"},
		CPU:         CPU{Boost: new(false), Sockets: new(2)},
		Mitigations: map[string]string{"meltdown": "PTI", "l1tf": "Not affected"},
		Memory:      Memory{SwapBytes: new(int64(0)), DIMMs: []DIMM{{Slot: "A1", SizeBytes: new(int64(1 << 34))}, {Slot: "A1", Type: "DDR5"}}},
		NICs:        []NIC{{Name: "eth0.5", MTUBytes: new(9000), PCIe: &PCIe{GTs: new(2.5)}}},
		State:       State{BootID: "b", Load1: new(0.25)},
		Unread:      []string{"x"},
	}
	want := []Fact{
		{Path: "machine.model", Value: "M1"},
		{Path: "machine.serial", Value: "S1", Identity: true},
		{Path: "cpu.sockets", Value: "2"},
		{Path: "cpu.boost", Value: "false"},
		{Path: "mitigations.l1tf", Value: "Not affected"},
		{Path: "mitigations.meltdown", Value: "PTI"},
		{Path: "memory.swap_bytes", Value: "0"},
		{Path: "memory.dimms.A1.size_bytes", Value: "17179869184"},
		{Path: "memory.dimms.A1#2.type", Value: "DDR5"},
		{Path: "nics.eth0.5.mtu_bytes", Value: "9000"},
		{Path: "nics.eth0.5.pcie.gt_per_s", Value: "2.5"},
		{Path: "state.boot_id", Value: "b", Volatile: true, Identity: true},
		{Path: "state.load_1min", Value: "0.25", Volatile: true},
	}
	if diff := cmp.Diff(want, f.Flatten()); diff != "" {
		t.Errorf("Flatten (-want +got):\n%s", diff)
	}
}

func TestFlattenMissesNothingAndNamesEachOnce(t *testing.T) {
	facts := fullFacts(t).Flatten()
	seen := map[string]bool{}
	for _, f := range facts {
		if seen[f.Path] {
			t.Errorf("path %s occurs twice", f.Path)
		}
		seen[f.Path] = true
		if strings.Contains(f.Path, "..") || strings.HasSuffix(f.Path, ".") {
			t.Errorf("path %q has a part without a name: a json or key tag is missing", f.Path)
		}
		// irqbalance moves interrupts about, so where they are served is state too.
		if f.Volatile != (strings.HasPrefix(f.Path, "state.") || strings.HasSuffix(f.Path, ".interrupt_cpus")) {
			t.Errorf("%s: Volatile = %v; only the state is volatile", f.Path, f.Volatile)
		}
	}
	// Every leaf that JSON writes is a fact, but for those tagged "-" and the keys of lists.
	data, err := json.Marshal(fullFacts(t))
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"host", "taken", "unread"} {
		delete(tree, k)
	}
	keys := 0
	for _, name := range []string{"numa", "nics", "disks"} {
		keys += len(tree[name].([]any))
	}
	keys += 2 * 3 // caches, packages, DIMMs
	if got, want := len(facts), leaves(tree)-keys; got != want {
		t.Errorf("Flatten gives %d facts; JSON has %d leaves beside the keys", got, want)
	}
}

func leaves(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			n += leaves(e)
		}
	case []any:
		for _, e := range v {
			n += leaves(e)
		}
	default:
		n = 1
	}
	return n
}

func TestRedact(t *testing.T) {
	f := Facts{
		Host:    "client",
		Machine: Machine{Model: "M1", Serial: "CZJ1234", UUID: "4c4c4544-0042-3510-8052-b4c04f4a4d32"},
		Kernel: Kernel{CommandLine: "BOOT_IMAGE=/vmlinuz root=UUID=4c4c4544-0042-3510-8052-b4c04f4a4d32 ro quiet isolcpus=2-7 " +
			"mitigations=off ip=192.0.2.7::192.0.2.1 pcie_aspm=off hostname=db01 -- --token abc"},
		OS: OS{Name: "Debian", Hostname: "db01.example.com"},
		NICs: []NIC{{
			Name: "enx001122334455", Address: "00:11:22:33:44:55", Firmware: "218.0.219.13",
			PCIe: &PCIe{Address: "0000:3b:00.0"},
		}},
		Disks:    []Disk{{Name: "nvme0n1", Serial: "S4YPNE0M"}},
		Versions: map[string]string{"redis": "Redis 7.0.15 built on db01.example.com", "db": "19.3.0.0"},
		Declared: map[string]string{"model": "Array 9", "serial": "77", "management ip": "x", "note": "at fe80::1%eth0 and 198.51.100.2"},
		Unread:   []string{"/sys/class/net/enx001122334455/speed: refused"},
	}
	want := Facts{
		Host:    "client",
		Machine: Machine{Model: "M1", Serial: Redacted, UUID: Redacted},
		Kernel: Kernel{CommandLine: "BOOT_IMAGE=[redacted] root=[redacted] ro quiet isolcpus=2-7 " +
			"mitigations=off ip=[redacted] pcie_aspm=off hostname=[redacted] -- [redacted]"},
		OS: OS{Name: "Debian", Hostname: Redacted},
		NICs: []NIC{{
			Name: "enx[redacted]", Address: Redacted, Firmware: "218.0.219.13",
			PCIe: &PCIe{Address: "0000:3b:00.0"},
		}},
		Disks:    []Disk{{Name: "nvme0n1", Serial: Redacted}},
		Versions: map[string]string{"redis": "Redis 7.0.15 built on [redacted]", "db": "19.3.0.0"},
		Declared: map[string]string{"model": "Array 9", "serial": Redacted, "management ip": Redacted, "note": "at [redacted] and [redacted]"},
		Unread:   []string{"/sys/class/net/enx[redacted]/speed: refused"},
	}
	before, _ := json.Marshal(f)
	if diff := cmp.Diff(want, f.Redact()); diff != "" {
		t.Errorf("Redact (-want +got):\n%s", diff)
	}
	if after, _ := json.Marshal(f); string(after) != string(before) {
		t.Errorf("Redact changed the facts it was given:\n%s\n%s", before, after)
	}
}

func TestRedactLeavesNoIdentity(t *testing.T) {
	full := fullFacts(t)
	data, err := json.Marshal(full.Redact())
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{}
	for _, f := range full.Redact().Flatten() {
		kept[f.Path] = f.Value
	}
	for _, f := range full.Flatten() {
		if !f.Identity && kept[f.Path] != f.Value {
			t.Errorf("%s = %q after redacting; want %q as before", f.Path, kept[f.Path], f.Value)
		}
		if f.Identity && strings.Contains(string(data), `"`+f.Value+`"`) {
			t.Errorf("%s still shows %q", f.Path, f.Value)
		}
	}
	if got := (Facts{}).Redact(); !reflect.DeepEqual(got, Facts{}) {
		t.Errorf("Redact of nothing = %+v; want nothing", got)
	}
}
