package telemetry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkLargeHost collects from a host with 128 cores and 600 interrupts.
func BenchmarkLargeHost(b *testing.B) {
	const cores, lines = 128, 600
	root := b.TempDir()
	var stat, irq, head strings.Builder
	fmt.Fprint(&stat, "cpu 1 2 3 4 5 6 7 8 9 10\n")
	for c := range cores {
		fmt.Fprintf(&stat, "cpu%d 1000 20 3000 40000 50 6 70 8 9 10\n", c)
		fmt.Fprintf(&head, "       CPU%d", c)
	}
	fmt.Fprintf(&irq, "%s\n", head.String())
	for l := range lines {
		fmt.Fprintf(&irq, "%4d:", l)
		for c := range cores {
			fmt.Fprintf(&irq, "%11d", c*l)
		}
		fmt.Fprintf(&irq, " IR-PCI-MSI-%d   %d-edge      mlx5_comp%d\n", l, l, l)
	}
	for name, text := range map[string]string{"stat": stat.String(), "interrupts": irq.String(), "softirqs": head.String() + "\n"} {
		path := filepath.Join(root, "proc", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []Collector{newCPU(root), newInterrupts(root)} {
		b.Run(c.Describe().Name, func(b *testing.B) {
			var dst []Sample
			for b.Loop() {
				var err error
				if dst, err = c.Collect(context.Background(), dst[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
