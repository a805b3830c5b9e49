package population

import (
	"strconv"
	"strings"
)

// words is a distribution of words: each stands as often as it weighs, so that
// a draw from 1 to the whole weight is a look-up.
type words []string

// parseWords reads words in their order, each with the weight of the number
// before it; an underscore is a space.
func parseWords(list string) (w words) {
	weight := 1
	for _, field := range strings.Fields(list) {
		if n, err := strconv.Atoi(field); err == nil {
			weight = n
			continue
		}
		for range weight {
			w = append(w, strings.ReplaceAll(field, "_", " "))
		}
	}
	return w
}

func (w words) pick(q *sequence) string { return w[q.draw(1, int64(len(w)))-1] }

// product joins every word of the first list with every one of the second,
// and so on.
func product(lists ...string) (w words) {
	w = words{""}
	for _, list := range lists {
		var longer words
		for _, head := range w {
			for _, tail := range strings.Fields(list) {
				longer = append(longer, strings.TrimSpace(head+" "+tail))
			}
		}
		w = longer
	}
	return w
}

// The lists of clause 4.2.2.13, from which columns and query parameters are drawn.

// Types are the 150 types of parts.
func Types() []string {
	return product("STANDARD SMALL MEDIUM LARGE ECONOMY PROMO", "ANODIZED BURNISHED PLATED POLISHED BRUSHED", "TIN NICKEL BRASS STEEL COPPER")
}

// Containers are the 40 containers of parts.
func Containers() []string {
	return product("SM LG MED JUMBO WRAP", "CASE BOX BAG JAR PACK PKG CAN DRUM")
}

// Segments are the market segments of customers.
func Segments() []string {
	return strings.Fields("AUTOMOBILE BUILDING FURNITURE HOUSEHOLD MACHINERY")
}

// Modes are the ways of shipping.
func Modes() []string { return parseWords("REG_AIR AIR RAIL TRUCK MAIL FOB SHIP") }

// Priorities are those of orders.
func Priorities() []string { return parseWords("1-URGENT 2-HIGH 3-MEDIUM 4-NOT_SPECIFIED 5-LOW") }

// Instructions are those for shipping.
func Instructions() []string {
	return parseWords("DELIVER_IN_PERSON COLLECT_COD TAKE_BACK_RETURN NONE")
}

func regions() words { return parseWords("AFRICA AMERICA ASIA EUROPE MIDDLE_EAST") }

// Regions are the names of the regions, by their keys.
func Regions() []string { return regions() }

func nations() words {
	return parseWords("ALGERIA ARGENTINA BRAZIL CANADA EGYPT ETHIOPIA FRANCE GERMANY INDIA INDONESIA IRAN IRAQ JAPAN " +
		"JORDAN KENYA MOROCCO MOZAMBIQUE PERU CHINA ROMANIA SAUDI_ARABIA VIETNAM RUSSIA UNITED_KINGDOM UNITED_STATES")
}

// Nations are the names of the nations, by their keys.
func Nations() []string { return nations() }

// RegionOf is the key of a nation's region.
func RegionOf(nation int) int {
	return [...]int{0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1}[nation]
}

// Colors are the 92 words that names of parts are made of.
func Colors() []string {
	return strings.Fields(`
	almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse chiffon chocolate coral
	cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest frosted gainsboro ghost goldenrod green grey honeydew hot
	indian ivory khaki lace lavender lawn lemon light lime linen magenta maroon medium metallic midnight mint misty moccasin navajo navy olive
	orange orchid pale papaya peach peru pink plum powder puff purple red rose rosy royal saddle salmon sandy seashell sienna sky slate smoke
	snow spring steel tan thistle tomato turquoise violet wheat white yellow`)
}

func nouns() words {
	return parseWords(`
	40 packages requests accounts deposits 20 foxes ideas theodolites pinto_beans instructions 10 dependencies excuses platelets asymptotes 5
	courts dolphins 1 multipliers sauternes warthogs frets dinos attainments somas Tiresias patterns forges braids frays warhorses dugouts
	notornis epitaphs pearls tithes waters orbits gifts sheaves depths sentiments decoys realms pains grouches escapades hockey_players`)
}

func verbs() words {
	return parseWords(`
	20 sleep wake are cajole haggle 10 nag use boost 5 affix detect integrate 1 maintain nod was lose sublate solve thrash promise engage hinder
	print x-ray breach eat grow impress mold poach serve run dazzle snooze doze unwind kindle play hang believe doubt`)
}

func adjectives() words {
	return parseWords(`
	20 special pending unusual express 1 furious sly careful blithe quick fluffy slow quiet ruthless thin close dogged daring brave stealthy
	permanent enticing idle busy 50 regular 40 final ironic 30 even 20 bold 10 silent`)
}

func adverbs() words {
	return parseWords(`
	1 sometimes always never 50 furiously slyly carefully 40 blithely 30 quickly 20 fluffily 1 slowly quietly ruthlessly thinly closely doggedly
	daringly bravely stealthily permanently enticingly idly busily regularly finally ironically evenly boldly silently`)
}

func prepositions() words {
	return parseWords(`
	50 about above according_to across after 40 against along 30 alongside_of among 20 around 10 at 1 atop before behind beneath beside besides
	between beyond by despite during except for from in_place_of inside instead_of into near of on outside over past since through throughout to
	toward under until up upon whithout with within`)
}

func auxiliaries() words {
	return parseWords(`
	1 do may might shall will would can could should ought_to must will_have_to shall_have_to could_have_to should_have_to must_have_to need_to
	try_to`)
}

func terminators() words {
	return parseWords(`
	50 . 1 ; : ? ! --`)
}
