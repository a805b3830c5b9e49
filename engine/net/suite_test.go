package net

import (
	"testing"
	"time"

	"bakeoff/load"
	"bakeoff/load/loadtest"
)

// TestConformance is the suite that every engine passes.
func TestConformance(t *testing.T) {
	target := startServer(t, serverConfig{}).targets[0]
	six := startServer(t, serverConfig{Listen: []string{"tcp://[::1]:0"}}).targets[0]
	spec := func(target string, p map[string]any) load.Spec {
		return load.Spec{Target: target, Parameters: p, Common: load.Common{Window: 500 * time.Millisecond}}
	}
	specs := []load.Spec{
		spec(target, nil),
		spec(six, map[string]any{"direction": "receive", "block": "64K"}),
		spec(target, map[string]any{"transport": "udp"}),
		spec(six, map[string]any{"transport": "udp", "direction": "receive", "gso": false}),
		spec(target, map[string]any{"mode": "pingpong"}),
		spec(six, map[string]any{"mode": "pingpong", "transport": "udp", "block": 100}),
		spec(target, map[string]any{"mode": "connect"}),
		spec(target, map[string]any{"mode": "blocks", "op": "mixed", "depth": 8, "block": "16K"}),
	}
	if testing.Short() {
		specs = specs[:1]
	}
	loadtest.Run(t, Engine{}, specs...)
}

func TestConformanceOnTargetsThatFail(t *testing.T) {
	t.Run("silent", func(t *testing.T) {
		loadtest.Silent(t, Engine{}, load.Spec{Target: "tcp://" + loadtest.SilentTarget(t)})
	})
	t.Run("refused", func(t *testing.T) {
		loadtest.Refused(t, Engine{}, load.Spec{Target: "tcp://" + loadtest.ClosedTarget(t)})
	})
	for name, p := range map[string]map[string]any{
		"stream": nil, "receive": {"direction": "receive"}, "datagrams": {"transport": "udp"}, "datagrams received": {"transport": "udp", "direction": "receive"},
		"pingpong": {"mode": "pingpong"}, "pingpong over UDP": {"mode": "pingpong", "transport": "udp"}, "spinning": {"mode": "pingpong", "wait": "spin"},
		"connect": {"mode": "connect"}, "blocks": {"mode": "blocks"},
	} {
		t.Run("dies, "+name, func(t *testing.T) {
			s := startServer(t, serverConfig{})
			loadtest.Dies(t, Engine{}, load.Spec{Target: s.targets[0], Parameters: p, Common: load.Common{OpTimeout: time.Second}}, s.kill)
		})
	}
}
