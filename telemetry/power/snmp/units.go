// Package snmp reads power distribution units over SNMP: their inlets or their
// outlets, never both, since an inlet's power holds its outlets'.
package snmp

import (
	"fmt"
	"strconv"

	"bakeoff/telemetry/power/meter"
)

// A quantity is one number of a unit and how it becomes watts.
type quantity struct {
	name      string // as "outlet 4"
	oid       string
	watts     float64 // in one of the number
	digits    string  // OID of how many of its digits are decimals; "" where watts says it all
	available string  // OID of whether there is a number, 1 for yes; "" where there is none
}

// A unitKind is a maker's MIB.
type unitKind struct {
	name   string
	inlet  func(unit, number int) quantity
	outlet func(unit, number int) quantity
}

func unitKinds() []unitKind {
	return []unitKind{
		{"apc", apcInlet, apcOutlet},
		{"raritan", raritanInlet, raritanOutlet},
		{"enlogic", enlogicInlet, enlogicOutlet},
	}
}

// APC rack PDUs of the second generation, PowerNet-MIB, rPDU2. A unit is
// measured as a whole; its number is that of the inlet.
func apcInlet(_, number int) quantity {
	// rPDU2DeviceStatusPower, in hundredths of a kilowatt
	return quantity{oid: fmt.Sprintf(".1.3.6.1.4.1.318.1.1.26.4.3.1.5.%d", number), watts: 10}
}

func apcOutlet(_, number int) quantity {
	// rPDU2OutletMeteredStatusPower, in watts; the rows of daisy-chained units follow one another
	return quantity{oid: fmt.Sprintf(".1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.%d", number), watts: 1}
}

// Raritan and Server Technology PX, PDU2-MIB. Sensor type 5 is activePower.
func raritanInlet(unit, number int) quantity {
	return raritan(unit, number, "2.3", "3.4")
}

func raritanOutlet(unit, number int) quantity {
	return raritan(unit, number, "4.3", "5.4")
}

func raritan(unit, number int, measured, configured string) quantity {
	const base, activePower = ".1.3.6.1.4.1.13742.6", 5
	row := fmt.Sprintf("%d.%d.%d", unit, number, activePower)
	return quantity{
		watts:     1,
		oid:       fmt.Sprintf("%s.5.%s.1.4.%s", base, measured, row),   // measurements...SensorValue
		available: fmt.Sprintf("%s.5.%s.1.2.%s", base, measured, row),   // measurements...SensorIsAvailable
		digits:    fmt.Sprintf("%s.3.%s.1.7.%s", base, configured, row), // ...SensorDecimalDigits
	}
}

// Enlogic, ENLOGIC-PDU-MIB.
func enlogicInlet(_, number int) quantity {
	// pduUnitStatusActivePower, in watts
	return quantity{oid: fmt.Sprintf(".1.3.6.1.4.1.38446.1.2.4.1.4.%d", number), watts: 1}
}

func enlogicOutlet(unit, number int) quantity {
	// pduOutletMeteredStatusActivePower, in watts
	return quantity{oid: fmt.Sprintf(".1.3.6.1.4.1.38446.1.5.9.1.6.%d.%d", unit, number), watts: 1}
}

// quantities takes the options that say what is read.
func quantities(o *meter.Options) []quantity {
	names := []string{""}
	for _, k := range unitKinds() {
		names = append(names, k.name)
	}
	kind := o.Choice("pdu", append(names, "oid")...)
	inlets, outlets, oids := o.List("inlets"), o.List("outlets"), o.List("oids")
	unit := o.Number("unit_number", 1)
	scale := o.Number("scale", 1)
	switch {
	case kind == "":
		o.Refuse("pdu", "it is missing", "whose MIB it speaks: apc, raritan or enlogic; or oid, with oids")
		return nil
	case kind == "oid":
		return byOID(o, oids, scale, len(inlets)+len(outlets) > 0)
	case len(oids) > 0 || o.Has("scale"):
		o.Refuse("oids", "OIDs or a scale for a unit whose MIB is known", "outlets or inlets; or pdu: oid")
	case len(inlets) > 0 && len(outlets) > 0:
		o.Refuse("outlets", "inlets and outlets", "one of them: an inlet's power holds its outlets'")
	case len(inlets)+len(outlets) == 0:
		o.Refuse("outlets", "neither outlets nor inlets", "the numbers of the outlets that feed the host, as 4,11; or inlets: 1 for all of the unit")
	case unit < 1 || unit != float64(int(unit)):
		o.Refuse("unit_number", fmt.Sprintf("found %v", unit), "a whole number from 1")
	}
	for _, k := range unitKinds() {
		if k.name == kind {
			return append(numbered(o, "inlets", inlets, int(unit), "inlet", k.inlet), numbered(o, "outlets", outlets, int(unit), "outlet", k.outlet)...)
		}
	}
	return nil
}

func numbered(o *meter.Options, key string, list []string, unit int, what string, make func(unit, number int) quantity) []quantity {
	var all []quantity
	seen := map[int]bool{}
	for _, text := range list {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || seen[n] {
			o.Refuse(key, fmt.Sprintf("found %q", text), "different whole numbers from 1, between commas")
			continue
		}
		seen[n] = true
		q := make(unit, n)
		q.name = fmt.Sprintf("%s %d", what, n)
		all = append(all, q)
	}
	return all
}

func byOID(o *meter.Options, oids []string, scale float64, others bool) []quantity {
	switch {
	case others:
		o.Refuse("outlets", "inlets or outlets with pdu: oid", "oids alone")
	case len(oids) == 0:
		o.Refuse("oids", "it is missing", "the OIDs whose numbers are added, between commas")
	case scale <= 0:
		o.Refuse("scale", fmt.Sprintf("found %v", scale), "the watts in one of the number, as 0.1")
	}
	var all []quantity
	for _, oid := range oids {
		if !isOID(oid) {
			o.Refuse("oids", fmt.Sprintf("found %q", oid), "numbers between dots, as 1.3.6.1.4.1.318.1.1.26.4.3.1.5.1")
			continue
		}
		if oid[0] != '.' {
			oid = "." + oid
		}
		all = append(all, quantity{name: oid[1:], oid: oid, watts: scale})
	}
	return all
}

func isOID(text string) bool {
	arcs, digits := 0, 0
	for i, c := range text {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '.' && (digits > 0 || i == 0):
			if digits > 0 {
				arcs++
			}
			digits = 0
		default:
			return false
		}
	}
	return digits > 0 && arcs >= 2
}
