package host

import (
	"strings"

	"bakeoff/record"
)

const blockDir = "/sys/block/"

// disks reads the block devices that have a size: loop devices and card
// readers without a medium have none.
func (p *part) disks() (all []record.Disk) {
	for _, name := range p.list(strings.TrimSuffix(blockDir, "/")) {
		const sector = 512 // in sysfs always, whatever the device's own
		size := p.scaled(blockDir+name+"/size", sector)
		if size == nil || *size <= 0 {
			continue
		}
		d := record.Disk{Name: name, SizeBytes: size}
		p.drive(&d)
		p.queue(&d)
		all = append(all, d)
	}
	return all
}

// drive reads what the device says of itself and where it is plugged in.
func (p *part) drive(d *record.Disk) {
	device := blockDir + d.Name + "/device"
	d.Model, d.Firmware = p.words(device+"/model"), p.text(device+"/firmware_rev")
	if vendor := p.words(device + "/vendor"); vendor != "" && vendor != "ATA" && !strings.HasPrefix(vendor, "0x") {
		d.Model = strings.TrimSpace(vendor + " " + d.Model)
	}
	if d.Firmware == "" {
		d.Firmware = p.text(device + "/rev")
	}
	d.Serial = p.serial(d.Name)
	d.QueueDepth = p.count(device + "/queue_depth")
	path, ok := try(p, device, p.tree.resolve)
	if !ok {
		return // made of others, as md and dm devices are
	}
	path = p.controller(path)
	pci := pciParent(path)
	d.PCIe, d.NUMANode = p.pcie(pci), p.numaNode(path)
	d.Driver = p.base(device + "/driver")
	if pci != "" && (d.Driver == "" || d.Driver == "sd") { // what drives the controller tells more
		d.Driver = p.base(pci + "/driver")
	}
}

// controller finds the first controller of an NVMe subsystem: with multipath
// the disk belongs to the subsystem, which is no device on a bus.
func (p *part) controller(path string) string {
	if !strings.Contains(path, "/nvme-subsystem/") {
		return path
	}
	for _, name := range p.list(path) {
		number, isController := strings.CutPrefix(name, "nvme")
		if isController && number != "" && digits(number) == len(number) {
			if to, ok := try(p, path+"/"+name, p.tree.resolve); ok {
				return to
			}
		}
	}
	return path
}

// serial is a disk's number: as NVMe and virtio give it, or from the page that
// SCSI has for it (SPC, unit serial number, 80h), behind a header of 4 bytes.
func (p *part) serial(name string) string {
	for _, file := range []string{"/device/serial", "/serial"} {
		if s := p.text(blockDir + name + file); s != "" {
			return s
		}
	}
	page, err := p.tree.read(p.ctx, blockDir+name+"/device/vpd_pg80")
	if err != nil || len(page) < 4 {
		return ""
	}
	return strings.Trim(page[4:], "\x00 ")
}

func (p *part) queue(d *record.Disk) {
	q := blockDir + d.Name + "/queue/"
	d.Rotational = p.flag(q + "rotational")
	d.LogicalBytes, d.PhysicalBytes = p.integer(q+"logical_block_size"), p.integer(q+"physical_block_size")
	d.Scheduler, d.Requests = p.choice(q+"scheduler"), p.count(q+"nr_requests")
	d.ReadAheadKiB, d.WriteCache = p.integer(q+"read_ahead_kb"), p.text(q+"write_cache")
	d.Merges, d.Affinity = p.text(q+"nomerges"), p.text(q+"rq_affinity")
	if n := len(p.list(blockDir + d.Name + "/mq")); n > 0 {
		d.Queues = &n
	}
}
