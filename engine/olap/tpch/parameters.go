package tpch

import (
	"fmt"
	"strconv"
	"strings"

	"bakeoff/engine/olap/population"
)

// Validation returns the parameters of a query with which answers are checked
// (the Query Validation clause of each query). That of query 11 depends on the scale factor.
func Validation(query int, scale float64) []string {
	if query == 11 {
		return []string{"GERMANY", fraction(scale)}
	}
	return strings.Split([...]string{
		"90", "15|BRASS|EUROPE", "BUILDING|1995-03-15", "1993-07-01", "ASIA|1994-01-01", "1994-01-01|0.06|24", "FRANCE|GERMANY",
		"BRAZIL|AMERICA|ECONOMY ANODIZED STEEL", "green", "1993-10-01", "", "MAIL|SHIP|1994-01-01", "special|requests", "1995-09-01", "1996-01-01",
		"Brand#45|MEDIUM POLISHED|49|14|23|45|19|3|36|9", "Brand#23|MED BOX", "300", "Brand#12|Brand#23|Brand#34|1|10|20",
		"forest|1994-01-01|CANADA", "SAUDI ARABIA", "13|31|23|29|30|18|17",
	}[query-1], "|")
}

// fraction is that of query 11: 0.0001 at scale factor 1.
func fraction(scale float64) string { return fmt.Sprintf("%.10f", 0.0001/scale) }

// Seed is the generator's seed that follows from a seed of any size: one of the
// middle of its range, as the specification's is (the time of the load, mmddhhmmss), since small
// ones give every stream the same first draws.
func Seed(seed uint64) uint64 { return 1_000_000_000 + mix(seed+1)%1_000_000_000 }

// Substitution returns the parameters of every query (element 0 is query 1) that
// the specification's query generator draws from a seed (the Substitution
// Parameters clause of each query). Stream s of a run has the run's seed plus s.
func Substitution(seed uint64, scale float64) [Queries][]string {
	var all [Queries][]string
	next := population.NewNumbers(seed)
	for query := 1; query <= Queries; query++ {
		next.Between(0, 1)
		d := draws{population.NewNumbers(next.Raw())}
		all[query-1] = d.parameters(query, scale)
	}
	return all
}

// draws makes the parameters of one query.
type draws struct{ *population.Numbers }

func (d draws) one(list []string) string { return list[d.Between(1, int64(len(list)))-1] }

// two draws different ones.
func (d draws) two(list []string) []string {
	a := d.one(list)
	for {
		if b := d.one(list); b != a {
			return []string{a, b}
		}
	}
}

func (d draws) number(low, high int64) string { return strconv.FormatInt(d.Between(low, high), 10) }

// month is the first day of a month, counted from January 1993.
func (d draws) month(low, high int64) string {
	n := d.Between(low, high)
	return fmt.Sprintf("%d-%02d-01", 1993+n/12, n%12+1)
}

// year is the first day of a year from 1993 to 1997.
func (d draws) year() string { return fmt.Sprintf("%d-01-01", 1900+d.Between(93, 97)) }

func (d draws) brand() string {
	m := d.Between(1, 5)
	return fmt.Sprintf("Brand#%d%d", m, d.Between(1, 5))
}

// distinct draws the first n of a shuffle of the numbers from low to high.
func (d draws) distinct(low, high int64, n int) (drawn []string) {
	numbers := make([]int64, high-low+1)
	for i := range numbers {
		numbers[i] = low + int64(i)
	}
	for i := range numbers {
		other := d.Between(int64(i), int64(len(numbers)-1))
		numbers[i], numbers[other] = numbers[other], numbers[i]
	}
	for _, v := range numbers[:n] {
		drawn = append(drawn, strconv.FormatInt(v, 10))
	}
	return drawn
}

func (d draws) parameters(query int, scale float64) []string {
	switch query {
	case 1:
		return []string{d.number(60, 120)}
	case 2:
		size, kind := d.number(1, 50), d.one(population.Types())
		return []string{size, kind[strings.LastIndex(kind, " ")+1:], d.one(population.Regions())}
	case 3:
		segment := d.one(population.Segments())
		return []string{segment, fmt.Sprintf("1995-03-%02d", 1+d.Between(0, 30))}
	case 4, 15:
		return []string{d.month(0, 57)}
	case 5:
		region := d.one(population.Regions())
		return []string{region, d.year()}
	case 6:
		year, discount := d.year(), fmt.Sprintf("0.%02d", d.Between(2, 9))
		return []string{year, discount, d.number(24, 25)}
	case 7:
		return d.two(population.Nations())
	case 8:
		nation := d.Between(1, 25) - 1
		region := population.Regions()[population.RegionOf(int(nation))]
		return []string{population.Nations()[nation], region, d.one(population.Types())}
	case 9:
		return []string{d.one(population.Colors())}
	case 10:
		return []string{d.month(1, 24)}
	case 11:
		return []string{d.one(population.Nations()), fraction(scale)}
	}
	return d.laterParameters(query)
}

func (d draws) laterParameters(query int) []string {
	switch query {
	case 12:
		modes := d.two(population.Modes())
		return append(modes, d.year())
	case 13:
		first := d.one([]string{"special", "pending", "unusual", "express"})
		return []string{first, d.one([]string{"packages", "requests", "accounts", "deposits"})}
	case 14:
		return []string{d.month(0, 59)}
	case 16:
		brand, kind := d.brand(), d.one(population.Types())
		return append([]string{brand, kind[:strings.LastIndex(kind, " ")]}, d.distinct(1, 50, 8)...)
	case 17:
		brand := d.brand()
		return []string{brand, d.one(population.Containers())}
	case 18:
		return []string{d.number(312, 315)}
	case 19:
		a, b, c := d.brand(), d.brand(), d.brand()
		x, y, z := d.number(1, 10), d.number(10, 20), d.number(20, 30)
		return []string{a, b, c, x, y, z}
	case 20:
		color, year := d.one(population.Colors()), d.year()
		return []string{color, year, d.one(population.Nations())}
	case 21:
		return []string{d.one(population.Nations())}
	}
	return d.distinct(10, 34, 7)
}
