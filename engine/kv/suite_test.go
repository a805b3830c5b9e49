package kv

import (
	"testing"

	"bakeoff/load"
	"bakeoff/load/loadtest"
)

// TestConformance is the suite that every engine passes.
func TestConformance(t *testing.T) {
	_, tcp, unix := startRedis(t)
	_, mc := startMemcached(t)
	loadtest.Run(t, Engine{},
		load.Spec{Target: tcp, Parameters: map[string]any{"connections": 4, "key_maximum": 1000}},
		load.Spec{Target: unix, Parameters: map[string]any{"connections": 4, "pipeline": 8, "key_maximum": 1000, "io": "epoll", "get_pattern": "zipf"},
			Common: load.Common{Workers: 2}},
		load.Spec{Target: mc, Parameters: map[string]any{"connections": 3, "pipeline": 8, "key_maximum": 1000, "protocol": "meta-quiet"}},
	)
}

func TestConformanceOnTargetsThatFail(t *testing.T) {
	t.Run("silent", func(t *testing.T) {
		loadtest.Silent(t, Engine{}, load.Spec{Target: "redis://" + loadtest.SilentTarget(t), Parameters: map[string]any{"preload": "none", "connections": 3}})
	})
	t.Run("refused", func(t *testing.T) {
		loadtest.Refused(t, Engine{}, load.Spec{Target: "redis://" + loadtest.ClosedTarget(t)})
	})
	t.Run("dies", func(t *testing.T) {
		p, tcp, _ := startRedis(t)
		loadtest.Dies(t, Engine{}, load.Spec{Target: tcp, Parameters: map[string]any{"connections": 3, "key_maximum": 1000}}, p.kill)
	})
}
