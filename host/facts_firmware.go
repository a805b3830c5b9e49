package host

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"bakeoff/host/smbios"
	"bakeoff/record"
)

// firmware reads what the firmware says of the machine: from the files that the
// kernel makes of it, which any user may read, and from the table itself. It
// reads the memory too, since it counts the modules.
func (p *part) firmware() (record.Machine, record.BIOS, []record.Socket, record.Memory) {
	t := p.smbios()
	id := func(name, otherwise string) string {
		if s := smbios.Clean(p.raw("/sys/class/dmi/id/" + name)); s != "" {
			return s
		}
		return otherwise
	}
	m := record.Machine{
		Vendor: id("sys_vendor", t.System.Vendor), Model: id("product_name", t.System.Model), Version: id("product_version", t.System.Version),
		Board: strings.TrimSpace(id("board_vendor", "") + " " + id("board_name", "")), Serial: p.secret("product_serial", t.System.Serial),
		UUID: strings.ToLower(p.secret("product_uuid", t.System.UUID)),
	}
	if m.Model == "" { // a device tree instead of a BIOS
		m.Model = strings.Trim(p.raw("/proc/device-tree/model"), "\x00\n ")
	}
	b := record.BIOS{
		Vendor: id("bios_vendor", t.BIOS.Vendor), Version: id("bios_version", t.BIOS.Version),
		Date: id("bios_date", t.BIOS.Date), Release: id("bios_release", t.BIOS.Release),
	}
	if p.tree.exists(p.ctx, "/sys/firmware") {
		b.UEFI = new(p.tree.exists(p.ctx, "/sys/firmware/efi"))
	}
	return m, b, sockets(t), p.memory(t)
}

// secret is a fact that the kernel shows to root alone; that another user may
// not read it goes without saying.
func (p *part) secret(name, otherwise string) string {
	if otherwise != "" {
		return otherwise
	}
	text, err := p.tree.read(p.ctx, "/sys/class/dmi/id/"+name)
	if err != nil {
		return ""
	}
	return smbios.Clean(text)
}

func (p *part) smbios() smbios.Table {
	const file = "/sys/firmware/dmi/tables/DMI"
	data, err := p.tree.read(p.ctx, file)
	switch {
	case errors.Is(err, fs.ErrPermission):
		p.note(file, fmt.Errorf("%w (memory modules and processor sockets are shown to root only)", unpathed(err)))
	case err != nil && !absent(err):
		p.note(file, err)
	}
	t, err := smbios.Parse([]byte(data))
	if err != nil {
		p.note(file, err)
	}
	return t
}

func sockets(t smbios.Table) (all []record.Socket) {
	for _, s := range t.Processors {
		all = append(all, record.Socket{
			Name: s.Socket, Maker: s.Maker, Version: s.Version, Serial: s.Serial,
			MaximumHz: megahertz(s.MaximumMHz), CurrentHz: megahertz(s.CurrentMHz),
			Cores: s.Cores, Enabled: s.Enabled, Threads: s.Threads,
		})
	}
	return all
}

func megahertz(n *int) *int64 {
	if n == nil {
		return nil
	}
	return new(int64(*n) * 1_000_000)
}

func (p *part) memory(t smbios.Table) record.Memory {
	info := parseMemInfo(p.raw("/proc/meminfo"))
	const mm = "/sys/kernel/mm/"
	m := record.Memory{
		TotalBytes: info["MemTotal"], SwapBytes: info["SwapTotal"],
		HugePages: info["HugePages_Total"], HugePageBytes: info["Hugepagesize"],
		THP: p.choice(mm + "transparent_hugepage/enabled"), THPDefrag: p.choice(mm + "transparent_hugepage/defrag"),
		Swappiness: p.integer("/proc/sys/vm/swappiness"), SamePage: p.text(mm + "ksm/run"),
		Zswap: p.text("/sys/module/zswap/parameters/enabled"),
	}
	for _, d := range t.Memory {
		if d.Empty || d.SizeBytes == nil {
			continue
		}
		m.InstalledBytes = plus(m.InstalledBytes, *d.SizeBytes)
		m.DIMMs = append(m.DIMMs, record.DIMM{
			Slot: d.Slot, Bank: d.Bank, SizeBytes: d.SizeBytes, Type: d.Type, Form: d.Form, RatedMTs: d.RatedMTs, ConfiguredMTs: d.ConfiguredMTs,
			Ranks: d.Ranks, TotalWidth: d.TotalWidth, DataWidth: d.DataWidth, Maker: d.Maker, Part: d.Part, Serial: d.Serial,
		})
	}
	if n := len(t.Memory); n > 0 {
		m.Slots = &n
	}
	return m
}

func plus(sum *int64, n int64) *int64 {
	if sum != nil {
		n += *sum
	}
	return &n
}

// parseMemInfo reads /proc/meminfo (proc_meminfo(5)) into bytes, and into
// plain numbers where a line has no unit.
func parseMemInfo(text string) map[string]*int64 {
	values := map[string]*int64{}
	for name, value := range keyed(text, ":") {
		digits, unit, _ := strings.Cut(value, " ")
		var n int64
		if _, err := fmt.Sscanf(digits+"\n", "%d\n", &n); err != nil {
			continue
		}
		if unit == "kB" {
			n <<= 10
		}
		values[name] = &n
	}
	return values
}
