package plan

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

var update = flag.Bool("update", false, "write docs/plan.schema.json afresh")

const schemaFile = "../docs/plan.schema.json"

// The published schema is the one that the parser's tables give.
func TestPublishedSchema(t *testing.T) {
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what plan.Schema gives; write it with go test ./plan -run TestPublishedSchema -update", schemaFile)
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("plan.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("plan.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON turns YAML into what an editor holds against a schema.
func asJSON(t *testing.T, src []byte) any {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Load(src, &doc); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(jsonValue(t, doc.Content[0]))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func jsonValue(t *testing.T, n *yaml.Node) any {
	t.Helper()
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			out[n.Content[i].Value] = jsonValue(t, n.Content[i+1])
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, item := range n.Content {
			out = append(out, jsonValue(t, item))
		}
		return out
	case yaml.AliasNode:
		return jsonValue(t, n.Alias)
	}
	if n.ShortTag() == "!!timestamp" {
		return n.Value
	}
	var v any
	if err := n.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Every example and every plan of this package fits the schema.
func TestSchemaTakesGoodPlans(t *testing.T) {
	s := compileSchema(t)
	plans := map[string][]byte{"template": Template(), "quick": Quick(QuickHost{ServerCPUs: "0", GeneratorCPUs: "1-3"}), "a3": []byte(a3), "good": []byte(good), "priced": []byte(priced), "graded": []byte(gradedPlan)}
	files, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, f := range files {
		if plans[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	for name, src := range plans {
		if err := s.Validate(asJSON(t, src)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefusesBadPlans(t *testing.T) {
	s := compileSchema(t)
	tests := map[string][2]string{
		"unknown key":           {"title: x", "title: x\nfactor: {}"},
		"no title":              {"title: x\n", ""},
		"window without a unit": {"window: 5s", "window: 30"},
		"percent without sign":  {"margin: 2%", "margin: 0.02"},
		"direction":             {"better: higher", "better: more"},
		"path to nothing":       {"workloads.get.value_size: 4K", "workload.get.value_size: 4K"},
		"one level":             {"    large: {workloads.get.value_size: 4K}\n", ""},
		"agent":                 {"agent: none", "agent: remote"},
		"price":                 {"agent: none", "agent: none, price: $5"},
		"order":                 {"title: x", "title: x\norder: random"},
		"blocks":                {"title: x", "title: x\nrepeat: {blocks: 0}"},
		"cores":                 {"host: local", `host: local, cpus: "a-b"`},
		"name":                  {"  get:", "  ' get':"},
		"tariff":                {"title: x", "title: x\nmoney: {tariff: 0.12 USD}"},
		"grid":                  {"title: x", "title: x\nmoney: {grid: 400}"},
		"operations":            {"title: x", "title: x\nmoney: {operations: [{per_year: 5}]}"},
		"together":              {"title: x", "title: x\ntogether: \"yes\""},
	}
	for name, tt := range tests {
		src := strings.Replace(good, tt[0], tt[1], 1)
		if src == good {
			t.Fatalf("%s: %q is not in the plan", name, tt[0])
		}
		if s.Validate(asJSON(t, []byte(src))) == nil {
			t.Errorf("%s: the schema takes it", name)
		}
		if _, err := Parse("p.yaml", []byte(src), testCatalog{}); err == nil {
			t.Errorf("%s: the parser takes it", name)
		}
	}
}
