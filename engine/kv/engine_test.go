package kv

import (
	"fmt"
	"testing"
)

func TestRedis(t *testing.T) {
	_, tcp, unix := startRedis(t)
	for _, target := range []string{tcp, unix} {
		for _, io := range []string{"io_uring", "epoll"} {
			for _, protocol := range []string{"resp2", "resp3"} {
				for _, pipeline := range []int{1, 16} {
					t.Run(fmt.Sprintf("%.5s %s %s %d", target, io, protocol, pipeline), func(t *testing.T) {
						ta := drive(t, newSpec(t, target, map[string]any{
							"connections": 5, "pipeline": pipeline, "protocol": protocol, "io": io, "key_maximum": 1000,
						}), 5000, nil)
						ta.expect(t, "get ok", "set ok")
						sets := float64(ta.done["set ok"]) / float64(ta.done["set ok"]+ta.done["get ok"])
						if sets < 0.05 || sets > 0.15 {
							t.Errorf("%.3f of the operations were sets, want 1 of 11", sets)
						}
					})
				}
			}
		}
	}
}

func TestMemcached(t *testing.T) {
	_, tcp := startMemcached(t)
	for _, target := range []string{tcp, startMemcachedUnix(t)} {
		for _, protocol := range []string{"text", "meta", "meta-quiet"} {
			for _, pipeline := range []int{1, 16} {
				t.Run(fmt.Sprintf("%.13s %s %d", target, protocol, pipeline), func(t *testing.T) {
					ta := drive(t, newSpec(t, target, map[string]any{
						"connections": 5, "pipeline": pipeline, "protocol": protocol, "key_maximum": 1000,
					}), 5000, nil)
					ta.expect(t, "get ok", "set ok")
				})
			}
		}
	}
}
