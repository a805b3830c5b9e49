package kv

import (
	"strings"
	"testing"
	"time"

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
		load.Spec{Target: tcp, Parameters: map[string]any{"connections": 4, "key_maximum": 1000}, Common: load.Common{Quantum: 500 * time.Microsecond}},
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

// TestKernelStampsKeepLatencyExact: an open loop that wakes up only every 20 ms
// must not add that to the service times.
func TestKernelStampsKeepLatencyExact(t *testing.T) {
	_, tcp, unix := startRedis(t)
	for _, io := range []string{"io_uring", "epoll"} {
		for target, stamped := range map[string]bool{tcp: true, unix: false} {
			const quantum = 20 * time.Millisecond
			spec := load.Spec{Workload: "w", Part: load.Source, Engine: "kv", Target: target, Seed: 1,
				Parameters: map[string]any{"connections": 20, "key_maximum": 100, "ratio": "0:1", "io": io},
				Common:     load.Common{Rate: 1000, Window: 500 * time.Millisecond, Quantum: quantum}}
			result := loadtest.Measure(t, Engine{}, spec)
			if got := strings.Contains(result.Load.Generator.Backend, "stamps of the kernel"); got != stamped {
				t.Errorf("%s: backend %q", target, result.Load.Generator.Backend)
			}
			for _, i := range result.Load.Series {
				if i.Completed > 50 && i.P50 > int64(quantum)/2 {
					t.Errorf("%s, %s: median service time %v: the wait for the wake-up is in it", target, io, time.Duration(i.P50))
				}
			}
		}
	}
}
