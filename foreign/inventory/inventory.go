// Package inventory reads what a machine is out of the output of common tools,
// so that a host can be looked at where bakeoff has not been: ethtool (settings,
// -k, -g, -l, -c, -a, -i), lspci -vv, lscpu, numactl -H, sysctl -a,
// /proc/interrupts and /proc/net/softnet_stat.
//
// Readers are pure. What a tool did not say stays absent.
package inventory

import (
	"errors"
	"fmt"
	"strings"

	"bakeoff/record"
)

// Found is what tools said of one host.
type Found struct {
	Facts record.Facts
	// Cards are PCI functions by their address, as lspci lists them. An
	// interface of ethtool -i names the one that it belongs to.
	Cards map[string]Card
	// Softnet are the counters of each processor's packet backlog.
	Softnet []Softnet
	// Vectors are the interrupts of each interface: how many, by name.
	Vectors map[string]int
}

// Card is one PCI function.
type Card struct {
	Address, Class, Name string
	Link                 record.PCIe
	NUMANode             *int
	Vectors              *int // of MSI-X, at most
	VFs, MaximumVFs      *int
	Driver               string
}

// Softnet is one processor's line of /proc/net/softnet_stat.
type Softnet struct {
	Processed, Dropped, Squeezed uint64 // packets, packets, times that the budget ran out
}

// ErrUnknown says that a text is of none of the tools that are read.
var ErrUnknown = errors.New("expected the output of ethtool, lspci -vv, lscpu, numactl -H or sysctl -a, or /proc/interrupts or /proc/net/softnet_stat")

// reader is one tool's: whether a text is its output, and what it says.
type reader struct {
	tool string
	is   func(text string) bool
	read func(f *Found, text string) error
}

func readers() []reader {
	has := func(parts ...string) func(string) bool {
		return func(text string) bool {
			for _, p := range parts {
				if !strings.Contains(text, p) {
					return false
				}
			}
			return true
		}
	}
	return []reader{
		{"ethtool -g", has("Ring parameters for "), readTable("Ring parameters for ", rings)},
		{"ethtool -l", has("Channel parameters for "), readTable("Channel parameters for ", channels)},
		{"ethtool -k", has("Features for "), readTable("Features for ", features)},
		{"ethtool -c", has("Coalesce parameters for "), readTable("Coalesce parameters for ", coalesce)},
		{"ethtool -a", has("Pause parameters for "), readTable("Pause parameters for ", pause)},
		{"ethtool", has("Settings for "), readTable("Settings for ", settings)},
		{"ethtool -i", has("driver: ", "bus-info: "), readDriver},
		{"lscpu", has("Architecture:", "Socket(s):"), readLSCPU},
		{"numactl -H", has("available: ", "node distances:"), readNUMA},
		{"lspci -vv", isLSPCI, readLSPCI},
		{"/proc/interrupts", isInterrupts, readInterrupts},
		{"/proc/net/softnet_stat", isSoftnet, readSoftnet},
		{"sysctl -a", isSysctl, readSysctl},
	}
}

// Read recognises the output of a tool, adds what it says to f and returns the
// tool's name. Name is the file's, for errors; where ethtool -i names no
// interface it is also that of the interface, without its extension.
func (f *Found) Read(name, text string) (tool string, err error) {
	for _, r := range readers() {
		if !r.is(text) {
			continue
		}
		before := len(f.Facts.NICs)
		if err := r.read(f, text); err != nil {
			return r.tool, fmt.Errorf("%s: reading the output of %s: %w", name, r.tool, err)
		}
		if r.tool == "ethtool -i" && len(f.Facts.NICs) > before {
			f.Facts.NICs[before].Name = interfaceOf(name)
			f.merge(before)
		}
		return r.tool, nil
	}
	return "", fmt.Errorf("%s: %w", name, ErrUnknown)
}

// interfaceOf takes an interface's name out of a file's, as ethtool_i_eth0.txt.
func interfaceOf(file string) string {
	base := file[strings.LastIndexByte(file, '/')+1:]
	base, _, _ = strings.Cut(base, ".")
	return base[strings.LastIndexAny(base, "_-")+1:]
}

// merge joins the interface at i with an earlier one of the same name.
func (f *Found) merge(i int) {
	nics := f.Facts.NICs
	for j := range i {
		if nics[j].Name == nics[i].Name {
			nics[j].Driver, nics[j].DriverVersion, nics[j].Firmware, nics[j].PCIe = nics[i].Driver, nics[i].DriverVersion, nics[i].Firmware, nics[i].PCIe
			f.Facts.NICs = append(nics[:i], nics[i+1:]...)
			return
		}
	}
}

// nic returns the interface of a name, a new one where there is none.
func (f *Found) nic(name string) *record.NIC {
	for i := range f.Facts.NICs {
		if f.Facts.NICs[i].Name == name {
			return &f.Facts.NICs[i]
		}
	}
	f.Facts.NICs = append(f.Facts.NICs, record.NIC{Name: name, Kind: "device"})
	return &f.Facts.NICs[len(f.Facts.NICs)-1]
}

// Join gives interfaces what lspci and /proc/interrupts say of their cards. It
// is called when all is read, in whatever order that was.
func (f *Found) Join() {
	for i := range f.Facts.NICs {
		n := &f.Facts.NICs[i]
		if v, ok := f.Vectors[n.Name]; ok {
			n.Interrupts = &v
		}
		if n.PCIe == nil {
			continue
		}
		c, ok := f.Cards[n.PCIe.Address]
		if !ok {
			continue
		}
		link := c.Link
		link.Address = c.Address
		n.PCIe = &link
		n.NUMANode, n.VirtualFunctions, n.MaximumVFs = c.NUMANode, c.VFs, c.MaximumVFs
	}
}
