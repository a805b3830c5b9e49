package record

import "time"

// Facts is what one host is at one moment. What could not be found is nil or
// empty, never zero.
//
// The fact tags say how Flatten and Redact treat a field: "volatile" differs
// from one moment to the next on the same host, "identity" names the machine
// or a part of it, "scrub" is free text that may hold such names, "key" names
// the element of a list, and "-" is not a fact.
type Facts struct {
	// Host is the plan's name of the host; who gathers does not know it.
	Host  string    `json:"host" fact:"-"`
	Taken time.Time `json:"taken" fact:"-"`

	Machine     Machine           `json:"machine,omitzero"`
	BIOS        BIOS              `json:"bios,omitzero"`
	CPU         CPU               `json:"cpu,omitzero"`
	Mitigations map[string]string `json:"mitigations,omitempty"` // vulnerability -> the kernel's answer
	NUMA        []NUMANode        `json:"numa,omitempty"`
	Memory      Memory            `json:"memory,omitzero"`
	Kernel      Kernel            `json:"kernel,omitzero"`
	OS          OS                `json:"os,omitzero"`
	Virtual     Virtualisation    `json:"virtual,omitzero"`
	NICs        []NIC             `json:"nics,omitempty"`
	Disks       []Disk            `json:"disks,omitempty"`
	Sysctls     map[string]string `json:"sysctls,omitempty"` // dotted key -> value
	Limits      map[string]string `json:"limits,omitempty"`  // of this process, inherited by what it starts
	Versions    map[string]string `json:"versions,omitempty"`
	// Daemons says whether programs run that change settings by themselves.
	Daemons map[string]string `json:"daemons,omitempty"`
	State   State             `json:"state,omitzero" fact:"volatile"`
	// Declared holds what the plan says of a host that has no agent.
	Declared map[string]string `json:"declared,omitempty" fact:"scrub"`
	// Unread says what was there but could not be read, and why.
	Unread []string `json:"unread,omitempty" fact:"-"`
}

// Machine is the computer as its maker describes it (DMI, SMBIOS type 1).
type Machine struct {
	Vendor string `json:"vendor,omitempty"`
	Model  string `json:"model,omitempty"`
	// Version often tells two machines sold under one model apart.
	Version string `json:"version,omitempty"`
	Board   string `json:"board,omitempty"`
	Serial  string `json:"serial,omitempty" fact:"identity"`
	UUID    string `json:"uuid,omitempty" fact:"identity"`
}

// BIOS is the firmware that starts the machine (SMBIOS type 0).
type BIOS struct {
	Vendor  string `json:"vendor,omitempty"`
	Version string `json:"version,omitempty"`
	Date    string `json:"date,omitempty"` // as the maker writes it
	Release string `json:"release,omitempty"`
	UEFI    *bool  `json:"uefi,omitempty"` // started by UEFI rather than by a legacy BIOS
}

// CPU describes all processors of the host together. Where cores differ, a
// text field lists the values with the cores that have them.
type CPU struct {
	Vendor       string   `json:"vendor,omitempty"`
	Model        string   `json:"model,omitempty"`
	Signature    string   `json:"signature,omitempty"` // family-model-stepping, decimal
	Architecture string   `json:"architecture,omitempty"`
	Microcode    string   `json:"microcode,omitempty"`
	Sockets      *int     `json:"sockets,omitempty"`
	Cores        *int     `json:"cores,omitempty"`   // physical ones, over all sockets
	Threads      *int     `json:"threads,omitempty"` // logical processors online
	Online       string   `json:"online,omitempty"`  // as "0-31"
	Isolated     string   `json:"isolated,omitempty"`
	SMT          string   `json:"smt,omitempty"` // on, off, forceoff, notsupported, notimplemented
	SMTActive    *bool    `json:"smt_active,omitempty"`
	Caches       []Cache  `json:"caches,omitempty"`
	Package      []Socket `json:"packages,omitempty"`

	// The frequencies are limits, in Hz. Minimum and Maximum are the
	// hardware's; Floor and Ceiling those that are set.
	MinimumHz    *int64 `json:"minimum_hz,omitempty"`
	MaximumHz    *int64 `json:"maximum_hz,omitempty"`
	BaseHz       *int64 `json:"base_hz,omitempty"`
	FloorHz      *int64 `json:"floor_hz,omitempty"`
	CeilingHz    *int64 `json:"ceiling_hz,omitempty"`
	Driver       string `json:"frequency_driver,omitempty"`
	Governor     string `json:"governor,omitempty"`
	Preference   string `json:"energy_preference,omitempty"`
	Boost        *bool  `json:"boost,omitempty"` // turbo allowed
	IdleDriver   string `json:"idle_driver,omitempty"`
	IdleGovernor string `json:"idle_governor,omitempty"`
	// IdleStates are the sleep states that a core may enter, shallowest first;
	// IdleExitSeconds is how long the deepest of them takes to leave.
	IdleStates      string   `json:"idle_states,omitempty"`
	IdleExitSeconds *float64 `json:"idle_exit_seconds,omitempty"`
}

// Cache is one level of cache as the first core sees it.
type Cache struct {
	Name      string `json:"name" fact:"key"` // L1d, L1i, L2, L3
	SizeBytes *int64 `json:"size_bytes,omitempty"`
	SharedBy  string `json:"shared_by,omitempty"` // logical processors, as "0,32"
}

// Socket is one processor package as the firmware describes it (SMBIOS type 4).
type Socket struct {
	Name      string `json:"name" fact:"key"`
	Maker     string `json:"maker,omitempty"`
	Version   string `json:"version,omitempty"`
	MaximumHz *int64 `json:"maximum_hz,omitempty"`
	CurrentHz *int64 `json:"current_hz,omitempty"` // at the time of boot
	Cores     *int   `json:"cores,omitempty"`
	Enabled   *int   `json:"cores_enabled,omitempty"`
	Threads   *int   `json:"threads,omitempty"`
	Serial    string `json:"serial,omitempty" fact:"identity"`
}

// NUMANode is one memory node.
type NUMANode struct {
	Node      string `json:"node" fact:"key"` // as "0"
	CPUs      string `json:"cpus,omitempty"`
	Bytes     *int64 `json:"memory_bytes,omitempty"`
	Distances string `json:"distances,omitempty"` // to every node, as "10 21"
}

// Memory is the host's memory and how it is paged.
type Memory struct {
	TotalBytes     *int64 `json:"total_bytes,omitempty"` // that the kernel can use
	SwapBytes      *int64 `json:"swap_bytes,omitempty"`
	HugePages      *int64 `json:"huge_pages,omitempty"` // reserved, of the default size
	HugePageBytes  *int64 `json:"huge_page_bytes,omitempty"`
	THP            string `json:"transparent_huge_pages,omitempty"` // always, madvise, never
	THPDefrag      string `json:"transparent_huge_pages_defrag,omitempty"`
	Swappiness     *int64 `json:"swappiness,omitempty"`
	SamePage       string `json:"same_page_merging,omitempty"` // /sys/kernel/mm/ksm/run
	Zswap          string `json:"zswap,omitempty"`
	InstalledBytes *int64 `json:"installed_bytes,omitempty"` // sum of the DIMMs
	Slots          *int   `json:"slots,omitempty"`
	DIMMs          []DIMM `json:"dimms,omitempty"` // filled slots only
}

// DIMM is one memory module (SMBIOS type 17). Rates are in transfers a second.
type DIMM struct {
	Slot          string `json:"slot" fact:"key"`
	Bank          string `json:"bank,omitempty"`
	SizeBytes     *int64 `json:"size_bytes,omitempty"`
	Type          string `json:"type,omitempty"` // as DDR5
	Form          string `json:"form,omitempty"` // as DIMM, SODIMM
	RatedMTs      *int   `json:"rated_mt_per_s,omitempty"`
	ConfiguredMTs *int   `json:"configured_mt_per_s,omitempty"`
	Ranks         *int   `json:"ranks,omitempty"`
	TotalWidth    *int   `json:"total_width_bits,omitempty"` // wider than the data where there is ECC
	DataWidth     *int   `json:"data_width_bits,omitempty"`
	Maker         string `json:"maker,omitempty"`
	Part          string `json:"part,omitempty"`
	Serial        string `json:"serial,omitempty" fact:"identity"`
}

// Kernel is the running kernel and how it was started.
type Kernel struct {
	Release     string `json:"release,omitempty"`
	Version     string `json:"version,omitempty"`
	CommandLine string `json:"command_line,omitempty" fact:"scrub"`
	Clocksource string `json:"clocksource,omitempty"`
	Clocks      string `json:"clocksources,omitempty"` // that could be chosen
	Tainted     string `json:"tainted,omitempty"`
}

// OS is the distribution (os-release(5)).
type OS struct {
	Name     string `json:"name,omitempty"`
	ID       string `json:"id,omitempty"`
	Version  string `json:"version,omitempty"`
	Hostname string `json:"hostname,omitempty" fact:"identity"`
}

// Virtualisation says what the host itself runs in.
type Virtualisation struct {
	Guest      *bool  `json:"guest,omitempty"`      // the processor says that there is a hypervisor
	Hypervisor string `json:"hypervisor,omitempty"` // kvm, vmware, xen, microsoft ...
	Container  string `json:"container,omitempty"`  // docker, podman, lxc, systemd-nspawn ...
}

// NIC is one network interface.
type NIC struct {
	Name          string            `json:"name" fact:"key"`
	Kind          string            `json:"kind,omitempty"` // device, loopback, bond, vlan, virtual
	Driver        string            `json:"driver,omitempty"`
	DriverVersion string            `json:"driver_version,omitempty"`
	Firmware      string            `json:"firmware,omitempty"`
	Address       string            `json:"address,omitempty" fact:"identity"` // MAC
	State         string            `json:"state,omitempty"`                   // operstate: up, down, unknown
	BitsPerSecond *int64            `json:"bits_per_second,omitempty"`         // of the link; absent without one
	Duplex        string            `json:"duplex,omitempty"`
	MTUBytes      *int              `json:"mtu_bytes,omitempty"`
	PCIe          *PCIe             `json:"pcie,omitempty"`
	NUMANode      *int              `json:"numa_node,omitempty"`
	RxQueues      *int              `json:"rx_queues,omitempty"`
	TxQueues      *int              `json:"tx_queues,omitempty"`
	TxQueueLength *int              `json:"tx_queue_length_packets,omitempty"`
	Rings         map[string]string `json:"rings,omitempty"`    // rx, tx: entries, and the most there could be
	Channels      map[string]string `json:"channels,omitempty"` // rx, tx, combined: now, and the most
	Coalesce      map[string]string `json:"coalesce,omitempty"`
	Offloads      map[string]string `json:"offloads,omitempty"`   // feature -> on, off, off [fixed]
	Pause         map[string]string `json:"pause,omitempty"`      // autoneg, rx, tx: on, off
	Interrupts    *int              `json:"interrupts,omitempty"` // message-signalled vectors (MSI, MSI-X) that it has
	// InterruptCPUs are the processors that serve them; irqbalance moves them.
	InterruptCPUs    string `json:"interrupt_cpus,omitempty" fact:"volatile"`
	VirtualFunctions *int   `json:"virtual_functions,omitempty"` // SR-IOV, enabled
	MaximumVFs       *int   `json:"maximum_virtual_functions,omitempty"`
	// Steering says for how many queues packets are spread over processors by
	// software: rps, xps: "4 of 8".
	Steering map[string]string `json:"steering,omitempty"`
}

// PCIe is a device's place on the bus and the link that it got.
type PCIe struct {
	Address      string   `json:"address,omitempty"` // domain:bus:device.function
	ID           string   `json:"id,omitempty"`      // vendor:device, hexadecimal
	Subsystem    string   `json:"subsystem,omitempty"`
	GTs          *float64 `json:"gt_per_s,omitempty"` // gigatransfers a second and lane
	MaximumGTs   *float64 `json:"maximum_gt_per_s,omitempty"`
	Width        *int     `json:"width_lanes,omitempty"`
	MaximumWidth *int     `json:"maximum_width_lanes,omitempty"`
	// Of the port that it is plugged into, at best.
	SlotGTs   *float64 `json:"slot_maximum_gt_per_s,omitempty"`
	SlotWidth *int     `json:"slot_maximum_width_lanes,omitempty"`
	// PayloadBytes is the largest payload of one transaction, as set (MPS).
	PayloadBytes *int `json:"payload_bytes,omitempty"`
}

// Disk is one block device with a size; partitions are not listed.
type Disk struct {
	Name          string `json:"name" fact:"key"`
	Model         string `json:"model,omitempty"`
	Firmware      string `json:"firmware,omitempty"`
	Serial        string `json:"serial,omitempty" fact:"identity"`
	Driver        string `json:"driver,omitempty"`
	SizeBytes     *int64 `json:"size_bytes,omitempty"`
	Rotational    *bool  `json:"rotational,omitempty"`
	LogicalBytes  *int64 `json:"logical_block_bytes,omitempty"`
	PhysicalBytes *int64 `json:"physical_block_bytes,omitempty"`
	Scheduler     string `json:"scheduler,omitempty"`
	Requests      *int   `json:"queue_requests,omitempty"` // of a queue (nr_requests)
	QueueDepth    *int   `json:"queue_depth,omitempty"`    // of a SCSI device
	Queues        *int   `json:"queues,omitempty"`         // hardware ones
	ReadAheadKiB  *int64 `json:"read_ahead_kib,omitempty"`
	WriteCache    string `json:"write_cache,omitempty"` // write back, write through
	Merges        string `json:"no_merges,omitempty"`   // 0 all, 1 simple ones, 2 none
	Affinity      string `json:"request_affinity,omitempty"`
	NUMANode      *int   `json:"numa_node,omitempty"`
	PCIe          *PCIe  `json:"pcie,omitempty"`
}

// State is what changes from moment to moment on any host.
type State struct {
	BootID         string   `json:"boot_id,omitempty" fact:"identity"`
	UptimeSeconds  *float64 `json:"uptime_seconds,omitempty"`
	Load1          *float64 `json:"load_1min,omitempty"` // tasks running or waiting
	Load5          *float64 `json:"load_5min,omitempty"`
	Load15         *float64 `json:"load_15min,omitempty"`
	Runnable       *int     `json:"runnable_tasks,omitempty"`
	SlowestHz      *int64   `json:"slowest_core_hz,omitempty"`
	FastestHz      *int64   `json:"fastest_core_hz,omitempty"`
	AvailableBytes *int64   `json:"memory_available_bytes,omitempty"`
	SwapUsedBytes  *int64   `json:"swap_used_bytes,omitempty"`
}
