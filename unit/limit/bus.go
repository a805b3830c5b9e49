package limit

import "fmt"

// A Bus is a standard interface with a fixed speed.
type Bus struct {
	Name     string
	Line     float64 // symbols or transfers per second on the line
	Code     string  // line code
	Data     float64 // bytes per second of data in one direction, protocol apart
	Standard string
}

// FibreChannel lists the generations with the nominal data rates by which they
// are sold (INCITS FC-PI; throughput of one direction).
func FibreChannel() []Bus {
	return []Bus{
		{"1GFC", 1.0625e9, "8b/10b", 100e6, "FC-PI"},
		{"2GFC", 2.125e9, "8b/10b", 200e6, "FC-PI"},
		{"4GFC", 4.25e9, "8b/10b", 400e6, "FC-PI-2"},
		{"8GFC", 8.5e9, "8b/10b", 800e6, "FC-PI-4"},
		{"16GFC", 14.025e9, "64b/66b", 1600e6, "FC-PI-5"},
		{"32GFC", 28.05e9, "256b/257b", 3200e6, "FC-PI-6"},
		{"64GFC", 28.9e9, "256b/257b PAM4", 6400e6, "FC-PI-7"},
		{"128GFC", 56.1e9, "256b/257b PAM4", 12800e6, "FC-PI-8"},
	}
}

// DriveInterfaces lists the interfaces of drives but for NVMe, whose limit is
// its PCIe link.
func DriveInterfaces() []Bus {
	return []Bus{
		{"SATA-1", 1.5e9, "8b/10b", 150e6, "SATA 1.0"},
		{"SATA-2", 3e9, "8b/10b", 300e6, "SATA 2.0"},
		{"SATA-3", 6e9, "8b/10b", 600e6, "SATA 3.0"},
		{"SAS-1", 3e9, "8b/10b", 300e6, "SAS 1.1"},
		{"SAS-2", 6e9, "8b/10b", 600e6, "SAS 2.1"},
		{"SAS-3", 12e9, "8b/10b", 1200e6, "SAS 3.0"},
		{"SAS-4", 22.5e9, "128b/150b", 2400e6, "SAS 4.0"},
	}
}

// FindBus returns the bus of that name from the lists above.
func FindBus(name string) (Bus, error) {
	all := append(FibreChannel(), DriveInterfaces()...)
	names := make([]string, len(all))
	for i, b := range all {
		if b.Name == name {
			return b, nil
		}
		names[i] = b.Name
	}
	return Bus{}, fmt.Errorf("interface %q: expected one of %v", name, names)
}

// memoryBus is the width of a memory channel's data in bytes; a DDR5 module's
// two half-wide subchannels count as one channel, as on the module's label.
const memoryBus = 8

// MemoryBandwidth returns the bytes per second that channels of so many
// megatransfers per second (the number in DDR4-3200) carry at most.
func MemoryBandwidth(megatransfers float64, channels int) (float64, error) {
	if !(megatransfers >= 100) || megatransfers > 50000 || channels < 1 || channels > 64 {
		return 0, fmt.Errorf("%d channels at %g MT/s: expected 1 to 64 channels at the number in the module's name, as 3200 for DDR4-3200", channels, megatransfers)
	}
	return megatransfers * 1e6 * memoryBus * float64(channels), nil
}
