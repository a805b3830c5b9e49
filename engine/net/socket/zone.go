package socket

import (
	"net"
	"strconv"
)

// zoneID is the scope of a link-local address: an interface's name or number.
func zoneID(zone string) uint32 {
	if zone == "" {
		return 0
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n)
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return 0 // connecting then says that there is no route
	}
	return uint32(i.Index)
}
