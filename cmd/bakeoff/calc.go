package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"bakeoff/unit"
	"bakeoff/unit/limit"
)

// A calcRow is one line of an answer: what, how much, and how it follows.
type calcRow struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	How   string  `json:"how"`
}

// newCalcCommand is the arithmetic of limits, ad hoc.
func newCalcCommand() *cobra.Command {
	calc := &cobra.Command{
		Use:   "calc",
		Short: "Work out physical limits: wires, slots, memory, drive interfaces",
		Args:  maximumArgs(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	calc.PersistentFlags().Bool("json", false, "write JSON")
	for _, c := range []*cobra.Command{calcEthernet(), calcPCIe(), calcPackets(), calcMemory(), calcBus(), calcShare()} {
		work := c.RunE
		c.RunE = func(cmd *cobra.Command, args []string) error { return badInput(work(cmd, args)) }
		calc.AddCommand(c)
	}
	return calc
}

// printRows writes the answer as a table or as JSON.
func printRows(cmd *cobra.Command, rows []calcRow) error {
	if asJSON, err := cmd.Flags().GetBool("json"); err == nil && asJSON {
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetIndent("", "  ")
		return enc.Encode(rows)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, unit.FormatSI(r.Value, r.Unit, 4), r.How)
	}
	return w.Flush()
}

func calcEthernet() *cobra.Command {
	var frame, mtu int
	c := &cobra.Command{
		Use:     "ethernet RATE",
		Short:   "Frame rate and goodput of a link, with preamble and gap",
		Example: "  bakeoff calc ethernet 10G --frame 64\n  bakeoff calc ethernet 100G --mtu 9000",
		Args:    exactArgs(1),
	}
	c.Flags().IntVar(&frame, "frame", limit.MinFrame, "bytes of a frame, header and FCS included")
	c.Flags().IntVar(&mtu, "mtu", 1500, "bytes of an IP packet")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		link, err := linkRate(args[0])
		if err != nil {
			return err
		}
		if !cmd.Flags().Changed("frame") && cmd.Flags().Changed("mtu") {
			frame = limit.Packet{MTU: mtu}.Frame()
		}
		frames, err := limit.FrameRate(link, frame)
		if err != nil {
			return err
		}
		apart, err := limit.PerPacket(frames)
		if err != nil {
			return err
		}
		rows := []calcRow{
			{fmt.Sprintf("frame rate, %d B", frame), frames, "frames/s", fmt.Sprintf("link / 8 / (%d B + %d B preamble + %d B gap)", frame, limit.Preamble, limit.InterFrameGap)},
			{"time a frame", apart / 1e9, "s", "1 / frame rate"},
		}
		for _, v6 := range []bool{false, true} {
			p := limit.Packet{MTU: mtu, IPv6: v6}
			goodput, err := p.Goodput(link)
			if err != nil {
				return err
			}
			payload, err := p.Payload()
			if err != nil {
				return err
			}
			name := map[bool]string{false: "TCP over IPv4, MTU ", true: "TCP over IPv6, MTU "}[v6] + strconv.Itoa(mtu)
			rows = append(rows, calcRow{name, goodput, "bit/s", fmt.Sprintf("%d B of data in %d B on the wire", payload, p.Frame()+limit.Preamble+limit.InterFrameGap)})
		}
		return printRows(cmd, rows)
	}
	return c
}

// slowestLink is 1 Mbit/s (IEEE 802.3 StarLAN): what is slower was meant in
// another unit.
const slowestLink = 1e6

// linkRate reads the rate of a link, in bits a second.
func linkRate(text string) (float64, error) {
	bits, err := unit.ParseRate(text)
	if err == nil && bits < slowestLink {
		err = fmt.Errorf("%q is %s, and no link is that slow: expected bits a second with their letter, as 10G", text, unit.FormatSI(bits, "bit/s", 4))
	}
	return bits, err
}

func calcPCIe() *cobra.Command {
	var payload int
	var demand string
	c := &cobra.Command{
		Use:     "pcie GENERATION xLANES",
		Short:   "Raw, encoded and effective rate of a slot, and how far a demand exceeds it",
		Example: "  bakeoff calc pcie 3 x8 --demand 80G",
		Args:    exactArgs(2),
	}
	c.Flags().IntVar(&payload, "payload", 128, "bytes of a transaction's payload (MPS)")
	c.Flags().StringVar(&demand, "demand", "", "bits per second that the devices can ask for, as 80G")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		link, err := parsePCIe(args[0], args[1], payload)
		if err != nil {
			return err
		}
		rows := []calcRow{
			{"transfers a lane", link.Transfers(), "T/s", "generation " + args[0]},
			{"raw", link.Raw(), "bit/s", fmt.Sprintf("x %d lanes", link.Lanes)},
			{"encoded", link.Encoded(), "bit/s", "after " + link.Code()},
			{"effective", link.Effective(), "bit/s", fmt.Sprintf("in transactions of %d B", payload)},
		}
		if demand != "" {
			bits, err := linkRate(demand)
			if err != nil {
				return fmt.Errorf("--demand: %w", err)
			}
			over, err := limit.Oversubscribe(bits, link.Effective())
			if err != nil {
				return err
			}
			rows = append(rows,
				calcRow{"demand over capacity", over.Ratio, "1", "demand / effective"},
				calcRow{"demand that does not fit", 100 * over.Short, "%", "(demand - effective) / demand"})
		}
		return printRows(cmd, rows)
	}
	return c
}

func parsePCIe(generation, lanes string, payload int) (limit.PCIeLink, error) {
	g, err := strconv.Atoi(strings.TrimPrefix(strings.ToLower(generation), "gen"))
	if err != nil {
		return limit.PCIeLink{}, fmt.Errorf("generation %q: expected a number from 1 to 6", generation)
	}
	n, err := strconv.Atoi(strings.TrimPrefix(lanes, "x"))
	if err != nil {
		return limit.PCIeLink{}, fmt.Errorf("lanes %q: expected a width such as x8", lanes)
	}
	link := limit.PCIeLink{Generation: g, Lanes: n, MaxPayload: payload}
	return link, link.Check()
}

func calcPackets() *cobra.Command {
	var clock string
	var size int
	c := &cobra.Command{
		Use:     "packets RATE",
		Short:   "Nanoseconds and cycles a packet, and the bits they carry",
		Example: "  bakeoff calc packets 10M --clock 3G --size 64",
		Args:    exactArgs(1),
	}
	c.Flags().StringVar(&clock, "clock", "3G", "clock of a core in hertz")
	c.Flags().IntVar(&size, "size", limit.MinFrame, "bytes of a packet")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		rate, err := unit.ParseRate(args[0])
		if err != nil {
			return err
		}
		hertz, err := unit.ParseRate(clock)
		if err != nil {
			return fmt.Errorf("--clock: %w", err)
		}
		ns, err := limit.PerPacket(rate)
		if err != nil {
			return err
		}
		return printRows(cmd, []calcRow{
			{"time a packet", ns / 1e9, "s", "1 / rate, on one core"},
			{"cycles a packet", limit.Cycles(ns, hertz), "cycles", "at " + unit.FormatSI(hertz, "Hz", 3)},
			{"payload rate", limit.PayloadRate(rate, size), "bit/s", fmt.Sprintf("rate x %d B, nothing added for the wire", size)},
		})
	}
	return c
}

func calcMemory() *cobra.Command {
	return &cobra.Command{
		Use:     "memory MT/S CHANNELS",
		Short:   "Peak bandwidth of DDR memory channels",
		Example: "  bakeoff calc memory 4800 8",
		Args:    exactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			speed, err := strconv.ParseFloat(args[0], 64)
			if err != nil {
				return fmt.Errorf("%q: expected megatransfers per second, as 4800 for DDR5-4800", args[0])
			}
			channels, err := strconv.Atoi(args[1])
			if err != nil {
				return fmt.Errorf("%q: expected the number of channels", args[1])
			}
			bytes, err := limit.MemoryBandwidth(speed, channels)
			if err != nil {
				return err
			}
			return printRows(cmd, []calcRow{{"peak bandwidth", bytes, "B/s", "MT/s x 8 B x channels"}})
		},
	}
}

func calcBus() *cobra.Command {
	return &cobra.Command{
		Use:     "bus [NAME]",
		Short:   "Data rate of Fibre Channel generations and drive interfaces",
		Example: "  bakeoff calc bus\n  bakeoff calc bus 32GFC",
		Args:    maximumArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			buses := append(limit.FibreChannel(), limit.DriveInterfaces()...)
			if len(args) == 1 {
				bus, err := limit.FindBus(args[0])
				if err != nil {
					return err
				}
				buses = []limit.Bus{bus}
			}
			rows := make([]calcRow, len(buses))
			for i, b := range buses {
				rows[i] = calcRow{b.Name, b.Data, "B/s", fmt.Sprintf("%s a line, %s (%s)", unit.FormatSI(b.Line, "Bd", 4), b.Code, b.Standard)}
			}
			return printRows(cmd, rows)
		},
	}
}

func calcShare() *cobra.Command {
	return &cobra.Command{
		Use:     "share BYTES/S LANES OF-LANES",
		Short:   "What a device's lanes get of a link that several share, such as QPI or UPI",
		Example: "  bakeoff calc share 25.6G 16 40",
		Args:    exactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			capacity, err := unit.ParseRate(args[0])
			if err != nil {
				return err
			}
			lanes, err := strconv.Atoi(args[1])
			if err != nil {
				return fmt.Errorf("%q: expected the device's lanes", args[1])
			}
			all, err := strconv.Atoi(args[2])
			if err != nil {
				return fmt.Errorf("%q: expected all lanes that share the link", args[2])
			}
			bytes, err := limit.SharedLink(capacity, lanes, all)
			if err != nil {
				return err
			}
			return printRows(cmd, []calcRow{
				{"share", bytes, "B/s", "capacity x lanes / all lanes"},
				{"the same", 8 * bytes, "bit/s", "x 8"},
			})
		},
	}
}
