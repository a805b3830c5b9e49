package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// good is a plan on which the table below breaks one thing at a time.
const good = `title: x
hosts: {local: {agent: local}, far: {agent: none}}
services:
  redis: {host: local, command: [redis-server], endpoint: "redis://127.0.0.1:6399"}
workloads:
  get: {engine: kv, service: redis, window: 5s}
factors:
  size:
    small: {workloads.get.value_size: 32}
    large: {workloads.get.value_size: 4K}
primary: {throughput: {better: higher, margin: 2%}}
`

func TestFaults(t *testing.T) {
	mustParse(t, good)
	tests := []struct {
		name, old, new string
		line           int
		want           []string // parts of the message
	}{
		{"no title", "title: x\n", "", 1, []string{"no title", "what the bake-off is called"}},
		{"empty title", "title: x", `title: ""`, 1, []string{"title: found", "one line of text"}},
		{"long title", "title: x", "title: " + strings.Repeat("x", maxLine+1), 1, []string{"at most 300 bytes"}},
		{"title of two lines", "title: x", `title: "a\nb"`, 1, []string{"one line of text"}},
		{"title that steers a terminal", "title: x", `title: "\e[2Jx"`, 1, []string{"title: found the character U+001B, which does not print"}},
		{"title turned about", "title: x", `title: "a\u202eb"`, 1, []string{"U+202E"}},
		{"a word that steers a terminal", "[redis-server]", `[redis-server, "\a"]`, 4, []string{"services.redis.command[1]", "U+0007"}},
		{"a key that steers a terminal", "{agent: none}", `{agent: none, facts: {"a\eb": c}}`, 2, []string{"hosts.far.facts.a\uFFFDb: found", "a key of characters that print"}},
		{"long key", "title: x", "title: x\n" + strings.Repeat("y", 900) + ": z", 2, []string{"yyy...: found the unknown key"}},
		{"long window", "window: 5s", "window: 3650d", 6, []string{`found "3650d"`, "at most 366d"}},
		{"unknown key", "title: x", "title: x\nfactor: {}", 2, []string{`unknown key "factor"`, "did you mean factors?"}},
		{"unknown host key", "far: {agent: none}", "far: {agents: none}", 2, []string{"hosts.far.agents", "did you mean agent?"}},
		{"unknown agent", "agent: none", "agent: remote", 2, []string{`found "remote"`, "local or none"}},
		{"duplicate key", "title: x", "title: x\ntitle: y", 2, []string{"a second \"title\" (the first is on line 1)", "remove one"}},
		{"duplicate level", "    large:", "    small:", 10, []string{"factors.size.small", "the first is on line 9"}},
		{"window without a unit", "window: 5s", "window: 30", 6, []string{"workloads.get.window", `found "30"`, "a unit after it, as 30s"}},
		{"window in words", "window: 5s", "window: 5 sec", 6, []string{"30s, 200us"}},
		{"no window", ", window: 5s", "", 6, []string{"neither window nor deadline", "write window: 30s"}},
		{"window 0", "window: 5s", "window: 0", 6, []string{"a window above 0"}},
		{"window and deadline", "window: 5s", "window: 5s, deadline: 1m", 6, []string{"both window and deadline"}},
		{"warmup of a deadline", "window: 5s", "deadline: 5s, warmup: 1s", 6, []string{"warm-up of work that ends by itself"}},
		{"empty value", "window: 5s", "window:", 6, []string{"workloads.get.window", "found nothing", "remove the key"}},
		{"octal", "window: 5s", "window: 5s, key_maximum: 010", 6, []string{"workloads.get.key_maximum", `found "010"`, "a count"}},
		{"date", "{agent: none}", "{agent: none, price: 2024-01-01}", 2, []string{"hosts.far.price", "amount of money"}},
		{"percent without sign", "margin: 2%", "margin: 0.02", 11, []string{"primary.throughput.margin", "a percentage with its sign"}},
		{"no margin", ", margin: 2%", "", 11, []string{"no margin", "the smallest difference that matters"}},
		{"margin 0", "margin: 2%", "margin: 0%", 11, []string{"between 0% and 100%"}},
		{"no primary", "primary: {throughput: {better: higher, margin: 2%}}\n", "", 1, []string{"no primary measure", "write primary:"}},
		{"direction", "better: higher", "better: more", 11, []string{"higher or lower"}},
		{"impossible measure", "throughput:", "troughput:", 11, []string{`found "troughput"`, "did you mean throughput?"}},
		{"open loop's measure", "throughput:", "response.p99:", 11, []string{`found "response.p99"`}},
		{"unknown engine", "engine: kv", "engine: kvs", 6, []string{"kv, null or exec", "did you mean kv?"}},
		{"no engine", "engine: kv, ", "", 6, []string{"no engine"}},
		{"unknown parameter", "window: 5s", "window: 5s, pipline: 4", 6, []string{`unknown key "pipline"`, "did you mean pipeline?"}},
		{"bad parameter", "window: 5s", "window: 5s, get_pattern: zipff", 6, []string{"uniform or zipf", "did you mean zipf?"}},
		{"bad switch", "window: 5s", "window: 5s, verify: yes", 6, []string{"true or false"}},
		{"engine's own check", "window: 5s", `window: 5s, ratio: "0:0"`, 6, []string{"a ratio of 0:0 does nothing"}},
		{"unknown service", "service: redis", "service: reds", 6, []string{`found "reds"`, "did you mean redis?"}},
		{"no target", "service: redis, ", "", 6, []string{"no service and no target", "write service: NAME"}},
		{"service and target", "service: redis", `service: redis, target: "redis://127.0.0.1:1"`, 6, []string{"both service and target"}},
		{"password", "redis://127", "redis://me:secret@127", 4, []string{"a URL without a password", "secrets: {password: {env: REDIS_PASSWORD}}"}},
		{"no URL", "redis://127.0.0.1:6399", "127.0.0.1:6399", 4, []string{"a URL such as"}},
		{"unknown source", "window: 5s", "window: 5s, source: locl", 6, []string{"a host of this plan", "did you mean local?"}},
		{"source without agent", "window: 5s", "window: 5s, source: far", 6, []string{"whose agent is none"}},
		{"service without agent", "host: local", "host: far", 4, []string{"whose agent is none", "that starts it"}},
		{"no endpoint", `, endpoint: "redis://127.0.0.1:6399"`, "", 4, []string{"no endpoint", "write endpoint:"}},
		{"two servers in one", "command: [redis-server]", "command: [redis-server], embedded: kv", 4, []string{"both command and embedded"}},
		{"unknown embedded", "command: [redis-server]", "embedded: null", 4, []string{"an engine with an embedded server: kv"}},
		{"empty command", "command: [redis-server]", "command: []", 4, []string{"an empty list", "the program and its arguments"}},
		{"command as text", "command: [redis-server]", "command: redis-server", 4, []string{"a list", "[a, b]"}},
		{"unused option", "command: [redis-server]", "command: [redis-server], options: {threads: 4}", 4, []string{"an option that nothing uses", "{threads}"}},
		{"options of a stranger", "command: [redis-server]", "options: {threads: 4}", 4, []string{"an option that nothing uses"}},
		{"env of a stranger", "command: [redis-server]", "env: {threads: 4}", 4, []string{"runs already"}},
		{"cores", "host: local", `host: local, cpus: "3-1"`, 4, []string{"a list of cores"}},
		{"arrival of a closed loop", "window: 5s", "window: 5s, arrival: poisson", 6, []string{"without rate", "write rate: 30k"}},
		{"rate 0", "window: 5s", "window: 5s, rate: 0", 6, []string{"a rate above 0"}},
		{"instances", "window: 5s", "window: 5s, instances: 1M", 6, []string{"at most 1000"}},
		{"secret", "window: 5s", "window: 5s, secrets: {password: {}}", 6, []string{"file and env"}},
		{"unknown option of an embedded server", "command: [redis-server]", "embedded: kv, options: {thraeds: 2}", 4, []string{"services.redis.options.thraeds", "embedded server kv does not have", "threads or memory", "did you mean threads?"}},
		{"option of an embedded server that does not fit", "command: [redis-server]", "embedded: kv, options: {threads: many}", 4, []string{"services.redis.options.threads", "many"}},
		{"unused service", "workloads:", "  other: {embedded: kv, endpoint: \"redis://127.0.0.1:1\"}\nworkloads:", 4, []string{"services.other", "no workload names", "always: true"}},

		{"no levels", "    small: {workloads.get.value_size: 32}\n    large: {workloads.get.value_size: 4K}\n", "", 8, []string{"factors.size", "two or more levels"}},
		{"one level", "    large: {workloads.get.value_size: 4K}\n", "", 8, []string{"two or more levels"}},
		{"empty level", "{workloads.get.value_size: 4K}", "{}", 10, []string{"factors.size.large", "an empty level", "say what the level sets"}},
		{"empty value in a level", "value_size: 4K", "value_size:", 10, []string{"found nothing"}},
		{"other paths", "{workloads.get.value_size: 4K}", "{workloads.get.value_size: 4K, workloads.get.key_maximum: 5}", 9, []string{"no value for workloads.get.key_maximum", "large sets it"}},
		{"no path", "workloads.get.value_size: 4K", "4K: 4", 10, []string{"begins with hosts, services, workloads or settings"}},
		{"short path", "workloads.get.value_size: 4K", "workloads.get: 4", 10, []string{"at least three parts"}},
		{"path to nothing", "workloads.get.value_size: 4K", "workloads.gte.value_size: 4K", 10, []string{`found "gte"`, "did you mean get?"}},
		{"path to no key", "{workloads.get.value_size: 4K}", "{workloads.get.valuesize: 4K}", 10, []string{`workloads.get.valuesize: found the unknown key "valuesize"`, "did you mean value_size?"}},
		{"path to no host key", "workloads.get.value_size: 4K", "hosts.far.prise: 4", 10, []string{"did you mean price?"}},
		{"path below text", "workloads.get.value_size: 4K", "hosts.far.price.usd: 4", 10, []string{"a path that ends with price"}},
		{"path below ready", "workloads.get.value_size: 4K", "services.redis.ready.timeot: 4s", 10, []string{"did you mean timeout?"}},
		{"setting of no kind", "workloads.get.value_size: 4K", "settings.local.sysclt.x: 4", 10, []string{"did you mean sysctl?"}},
		{"set twice in a level", "{workloads.get.value_size: 4K}", "{workloads.get.value_size: 4K, workloads.*.value_size: 5K}", 10, []string{"which line 10 sets too"}},
		{"bad value in a level", "value_size: 4K", "window: 30", 9, []string{"no value for workloads.get.window"}},
		{"level's name", "    large:", "    a=b:", 10, []string{"a level's name"}},
		{"factor's name", "  size:", "  my size:", 8, []string{"factors.my size", "a name of letters"}},
		{"reserved factor", "  size:", "  workload:", 8, []string{"several workloads are the factor workload by themselves"}},
		{"unknown baseline", "primary:", "baseline: {size: lage}\nprimary:", 11, []string{"a level of size: small or large", "did you mean large?"}},
		{"baseline of nothing", "primary:", "baseline: {sise: large}\nprimary:", 11, []string{"did you mean size?"}},
		{"hard nothing", "primary:", "hard: [raid]\nprimary:", 11, []string{`found "raid"`}},
		{"no comparison", "primary:", "compare: []\nprimary:", 11, []string{"no comparison", "leave compare out"}},
		{"unknown comparison", "primary:", "compare: [sice]\nprimary:", 11, []string{"compare[0]", "did you mean size?"}},
		{"comparison with itself", "primary:", "compare: [size x size]\nprimary:", 11, []string{"the factor size twice"}},
		{"comparison within nothing", "primary:", "compare: [size within all]\nprimary:", 11, []string{"or a within b"}},
		{"blocks and pilot", "primary:", "repeat: {blocks: 3, pilot: 8}\nprimary:", 11, []string{"either {blocks: N}, or"}},
		{"half a repeat", "primary:", "repeat: {pilot: 8}\nprimary:", 11, []string{"all of pilot, until and max"}},
		{"small pilot", "primary:", "repeat: {pilot: 4, until: 1%, max: 30}\nprimary:", 11, []string{"repeat.pilot", "8 blocks or more"}},
		{"max below pilot", "primary:", "repeat: {pilot: 12, until: 1%, max: 10}\nprimary:", 11, []string{"at least the 12 blocks"}},
		{"until without sign", "primary:", "repeat: {pilot: 8, until: 1, max: 10}\nprimary:", 11, []string{"repeat.until", "a percentage"}},
		{"odd abba", "primary:", "order: abba\nrepeat: {blocks: 7}\nprimary:", 12, []string{"an odd number of blocks"}},
		{"order", "primary:", "order: random\nprimary:", 11, []string{"blocks or abba"}},
		{"too many trials", "primary:", "repeat: {blocks: 1M}\nprimary:", 11, []string{"2 cells x 1000000 blocks = 2000000 trials", "at most 9999"}},
		{"retries", "primary:", "retries: 99\nprimary:", 11, []string{"at most 10"}},
		{"ladder and compare", "primary:", "ladder: true\ncompare: [size]\nprimary:", 12, []string{"comparisons of a ladder"}},
		{"ladder's baseline", "primary:", "ladder: true\nbaseline: {size: large}\nprimary:", 12, []string{"a ladder begins at its first level"}},
		{"yes is no boolean", "primary:", "together: yes\nprimary:", 11, []string{"true or false"}},
		{"interval", "primary:", "telemetry: {interval: 1ms}\nprimary:", 11, []string{"100ms or more"}},
		{"collector", "primary:", "telemetry: {collectors: [cpus]}\nprimary:", 11, []string{"did you mean cpu?"}},
		{"limit", "primary:", "limits: {error: 1%}\nprimary:", 11, []string{"did you mean errors?"}},
		{"money", "primary:", "money: {currency: dollars}\nprimary:", 11, []string{"ISO 4217"}},
		{"price in another currency", "agent: none}}", "agent: none, price: 5 EUR}}\nmoney: {currency: USD}", 2, []string{"hosts.far.price", "the currency of this plan"}},
		{"currency mixed", "primary:", "money: {currency: USD, support: 5 EUR}\nprimary:", 11, []string{"the currency of this plan"}},
		{"tariff", "primary:", "money: {tariff: 0.12 USD}\nprimary:", 11, []string{"0.12 USD/kWh"}},
		{"file elsewhere", "factors:", "settings: {local: {file: {/etc/passwd: x}}}\nfactors:", 7, []string{"below /sys or /proc"}},
		{"settings of no host", "factors:", "settings: {locl: {governor: performance}}\nfactors:", 7, []string{"did you mean local?"}},
		{"settings without agent", "factors:", "settings: {far: {governor: performance}}\nfactors:", 7, []string{"whose agent is none"}},
		{"settings command", "factors:", "settings: {local: {command: {x: {apply: [a], value: 1}}}}\nfactors:", 7, []string{"no read"}},
		{"power without class", "agent: none}", "agent: none, power: [{kind: csv, path: x}]}", 2, []string{"say class: wall-meter"}},
		{"power option", "agent: none}", "agent: none, power: [{kind: csv, class: psu, file: [x]}]}", 2, []string{"hosts.far.power[0].file", "a single value"}},
		{"power with password", "agent: none}", "agent: none, power: [{kind: redfish, class: bmc, password: x}]}", 2, []string{"password_env or password_file"}},
		{"facts of an agent", "{agent: local}", "{agent: local, facts: {cpu: x}}", 2, []string{"declared facts of a host with an agent"}},

		{"tag", "title: x", "title: !!binary eHg=", 1, []string{"the tag !!binary"}},
		{"merge key", "title: x", "title: x\n<<: {seed: 1}", 2, []string{"the merge key <<"}},
		{"tab", "  get:", "\tget:", 6, []string{"not YAML", "never tabs"}},
		{"unknown alias", "title: x", "title: *x", 1, []string{"not YAML"}},
		{"two documents", "title: x", "title: x\n---\ntitle: y", 0, []string{"exactly one plan"}},
		{"not UTF-8", "title: x", "title: \xff", 0, []string{"UTF-8"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := strings.Replace(good, tt.old, tt.new, 1)
			if src == good {
				t.Fatalf("%q is not in the plan", tt.old)
			}
			_, err := Parse("plan.yaml", []byte(src), testCatalog{})
			checkFault(t, err, tt.line, tt.want)
		})
	}
}

// TestOneFaultOnce shows mistakes that are one each, however many cells and checks
// meet them.
func TestOneFaultOnce(t *testing.T) {
	overridden := strings.Replace(strings.Replace(good, "{workloads.get.value_size: 32}", "{workloads.get.connections: 1}", 1),
		"{workloads.get.value_size: 4K}", "{workloads.get.connections: 2}", 1)
	tests := map[string]struct{ src, want string }{
		"parameter":            {strings.Replace(good, "window: 5s", `window: 5s, conections: 4, ratio: "0:0"`, 1), `plan.yaml:6: workloads.get.conections: found the unknown key "conections", expected connections, `},
		"service":              {strings.Replace(good, "service: redis", "service: reds", 1), `plan.yaml:6: workloads.get.service: found "reds", expected a service of this plan: redis; did you mean redis?`},
		"path in one level":    {strings.Replace(overridden, "connections: 2", "conections: 2", 1), `plan.yaml:10: workloads.get.conections: found the unknown key "conections"`},
		"path in every level":  {strings.ReplaceAll(overridden, "connections: 2", "connections: 010"), `plan.yaml:10: workloads.get.connections: found "010", expected a count`},
		"overridden parameter": {strings.Replace(overridden, "window: 5s", "window: 5s, connections: 010", 1), `plan.yaml:6: workloads.get.connections: found "010", expected a count`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("plan.yaml", []byte(tt.src), testCatalog{})
			if all, _ := errors.AsType[Errors](err); len(all) != 1 || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want one fault, %q, found: %v", tt.want, err)
			}
		})
	}
}

// TestPathsThatMayBeMisspelt has no engines to know keys by: two near names in two
// levels are probably one.
func TestPathsThatMayBeMisspelt(t *testing.T) {
	src := strings.Replace(good, "{workloads.get.value_size: 4K}", "{workloads.get.valuesize: 4K}", 1)
	_, err := Parse("plan.yaml", []byte(src), nil)
	checkFault(t, err, 10, []string{"no value for workloads.get.value_size", "is one of workloads.get.valuesize and workloads.get.value_size misspelt?"})
	checkFault(t, err, 9, []string{"no value for workloads.get.valuesize", "misspelt?"})
}

// TestLongChoicesAreCut lists the nearest names, and not all.
func TestLongChoicesAreCut(t *testing.T) {
	many := []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"}
	if got, want := someOf("kapa", many), "kappa, alpha, beta, gamma, zeta, eta, iota, delta or one of 2 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := someOf("gama", many[:3]), "gamma, alpha or beta"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := someOf("qqqqqqqqqqqq", many), "alpha, beta, gamma, delta, epsilon, zeta, eta, theta or one of 2 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// checkFault fails unless one error is at the line and says all that is wanted.
func checkFault(t *testing.T, err error, line int, want []string) {
	t.Helper()
	all, _ := errors.AsType[Errors](err)
	for _, e := range all {
		missing := false
		for _, w := range want {
			missing = missing || !strings.Contains(e.Error(), w)
		}
		if e.Line == line && !missing {
			return
		}
	}
	t.Errorf("want line %d and %q, found: %v", line, want, err)
}

func TestFaultsOfWholeFiles(t *testing.T) {
	levels := ""
	for i := range 11 {
		levels += fmt.Sprintf("l%d: {workloads.get.PATH: %d}, ", i, i)
	}
	product := "title: x\nworkloads: {get: {engine: kv, target: \"redis://127.0.0.1:1\", window: 5s}}\nfactors:\n"
	for _, path := range []string{"key_maximum", "connections", "pipeline"} {
		product += "  " + path + ": {" + strings.ReplaceAll(levels, "PATH", path) + "}\n"
	}
	bomb := "title: x\na: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'h'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 10), ", "))
	}
	tests := map[string]struct {
		src  string
		line int
		want []string
	}{
		"empty":              {"", 0, []string{"exactly one plan", "bakeoff plan new"}},
		"comment":            {"# nothing\n", 0, []string{"exactly one plan"}},
		"list":               {"- a\n", 1, []string{"a list", "a map with title"}},
		"scalar":             {"hello\n", 1, []string{"a single value"}},
		"huge":               {strings.Repeat("#", maxSource+1), 0, []string{"at most 1048576 bytes"}},
		"deep":               {strings.Repeat("[", 40) + strings.Repeat("]", 40), 1, []string{"at most 20000 values"}},
		"aliases multiply":   {bomb, 2, []string{"aliases that multiply"}},
		"self reference":     {"title: &a [*a]\n", 1, []string{"aliases"}},
		"impossible product": {product, 4, []string{"11 (key_maximum) x 11 (connections) x 11 (pipeline) = 1331 cells", "at most 1000 cells"}},
		"version of YAML":    {"%YAML 1.2\n---\n" + good, 1, []string{"leave the %YAML line out"}},
		"NUL byte":           {good + "question: a\x00b\n", 12, []string{"take the control character out"}},
		"no workloads":       {"title: x\n", 1, []string{"no workloads"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("plan.yaml", []byte(tt.src), testCatalog{})
			checkFault(t, err, tt.line, tt.want)
		})
	}
}

// Aliases that multiply are one fault, not one for each place they reach.
func TestAliasesAreOneFault(t *testing.T) {
	src := "title: x\na: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'm'; c++ {
		src += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 10), ", "))
	}
	_, err := Parse("plan.yaml", []byte(src), testCatalog{})
	if n := strings.Count(fmt.Sprint(err), "aliases that multiply"); n != 1 {
		t.Errorf("said %d times, want once: %v", n, err)
	}
}

// What two factors set, and what only shows once levels are combined.
func TestFaultsBetweenFactors(t *testing.T) {
	second := func(level string) string {
		return strings.Replace(good, "primary:", "  other:\n    a: {"+level+"}\n    b: {"+level+"}\nprimary:", 1)
	}
	tests := map[string]struct {
		src  string
		line int
		want []string
	}{
		"one path":     {second("workloads.get.value_size: 1"), 12, []string{"workloads.get.value_size", "the factor size sets too", "line 9"}},
		"by wildcard":  {second("workloads.*.value_size: 1"), 12, []string{"the factor size sets too"}},
		"inside":       {second("workloads.get.value_size.x: 1"), 12, []string{"the factor size sets too"}},
		"wrong unit":   {second("workloads.get.warmup: 5"), 12, []string{"workloads.get.warmup", "a unit after it, as 5s"}},
		"no parameter": {second("workloads.get.pipelin: 5"), 12, []string{"did you mean pipeline?"}},
		"no service":   {second("workloads.get.service: nothing"), 12, []string{"workloads.get.service", "a service of this plan"}},
		"three cells":  {strings.Replace(good, "primary:", "order: abba\nprimary:", 1) + "", 0, nil},
		"four, abba":   {strings.Replace(second("workloads.get.key_maximum: 5"), "primary:", "order: abba\nprimary:", 1), 14, []string{"abba with 4 cells", "exactly two"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("plan.yaml", []byte(tt.src), testCatalog{})
			if tt.want == nil && err == nil {
				return
			}
			checkFault(t, err, tt.line, tt.want)
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{good, a3, templatePlan, string(Quick(QuickHost{})), "", "a: &a [*a]", "title: [", "factors: {a: {b: {}, c: {}}}", "hosts:\n- x", "workloads: {x: y}", "settings: {a: b}", "factors: {a: {b: {workloads.*.x: 1}, c: {hosts.*.price: 1}}}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := Parse("p.yaml", src, testCatalog{})
		if err != nil {
			all, ok := errors.AsType[Errors](err)
			if !ok || len(all) == 0 || len(all) > maxErrors {
				t.Fatalf("not a list of errors: %v", err)
			}
			for _, e := range all {
				if e.Found == "" || e.Expected == "" || e.Line < 0 {
					t.Errorf("an error that says too little: %+v", e)
				}
			}
			return
		}
		for _, c := range p.Cells() {
			if _, err := p.Resolve(c); err != nil {
				t.Errorf("a plan that was accepted does not resolve: %v", err)
			}
		}
		if _, _, err := Next(p, nil); err != nil {
			t.Error(err)
		}
		if _, err := Parse("p.yaml", src, nil); err != nil {
			t.Errorf("refused without engines, accepted with them: %v", err)
		}
	})
}
