package host

import (
	"fmt"
	"strconv"

	"github.com/safchain/ethtool"

	"bakeoff/host/smbios"
)

// askDriver asks a driver by the SIOCETHTOOL ioctls (linux/ethtool.h). What a
// driver does not have is left empty.
func askDriver(name string) (driverAnswer, error) {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return driverAnswer{}, fmt.Errorf("opening a socket: %w", err)
	}
	defer tool.Close()
	var a driverAnswer
	info, infoErr := tool.DriverInfo(name)
	if infoErr == nil {
		a.driver, a.version, a.firmware = info.Driver, smbios.Clean(info.Version), smbios.Clean(info.FwVersion)
	}
	ring, ringErr := tool.GetRing(name)
	if ringErr == nil {
		a.rings = present(pairs("rx", ring.RxPending, ring.RxMaxPending, "tx", ring.TxPending, ring.TxMaxPending))
	}
	ch, chErr := tool.GetChannels(name)
	if chErr == nil {
		a.channels = present(pairs("rx", ch.RxCount, ch.MaxRx, "tx", ch.TxCount, ch.MaxTx, "combined", ch.CombinedCount, ch.MaxCombined))
	}
	c, coalesceErr := tool.GetCoalesce(name)
	if coalesceErr == nil {
		a.coalesce = coalescing(c)
	}
	pause, pauseErr := tool.GetPause(name)
	if pauseErr == nil {
		a.pause = pausing(pause)
	}
	features, featureErr := tool.FeaturesWithState(name)
	if featureErr == nil {
		a.offloads = offloads(features)
	}
	return a, firstError(infoErr, ringErr, chErr, coalesceErr, pauseErr, featureErr)
}

// pairs writes "now of most" under each name, leaving out what there is none of.
func pairs(values ...any) map[string]string {
	found := map[string]string{}
	for ; len(values) >= 3; values = values[3:] {
		name, now, most := values[0].(string), values[1].(uint32), values[2].(uint32)
		if most > 0 {
			found[name] = fmt.Sprintf("%d of %d", now, most)
		}
	}
	return found
}

// pausing writes flow control (IEEE 802.3 annex 31B) as it is set.
func pausing(p ethtool.Pause) map[string]string {
	text := func(on uint32) string { return map[bool]string{true: "on", false: "off"}[on != 0] }
	return map[string]string{"autoneg": text(p.Autoneg), "rx": text(p.RxPause), "tx": text(p.TxPause)}
}

func coalescing(c ethtool.Coalesce) map[string]string {
	text := func(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
	return map[string]string{
		"rx_us": text(c.RxCoalesceUsecs), "rx_frames": text(c.RxMaxCoalescedFrames), "adaptive_rx": text(c.UseAdaptiveRxCoalesce),
		"tx_us": text(c.TxCoalesceUsecs), "tx_frames": text(c.TxMaxCoalescedFrames), "adaptive_tx": text(c.UseAdaptiveTxCoalesce),
	}
}
