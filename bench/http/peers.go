package main

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"time"
)

func awaitListener(ctx context.Context, address string) error {
	for deadline := time.Now().Add(10 * time.Second); ; {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it does not listen: %w", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// wrk's CPU is that of its whole process.
func (b *bench) wrk(ctx context.Context, size string) (outcome, error) {
	out, cpu, err := b.spend(ctx, "wrk", "-t1", fmt.Sprintf("-c%d", b.connections), fmt.Sprintf("-d%ds", max(int(b.time.Seconds()), 1)), "http://"+b.address+"/"+size)
	if err != nil {
		return outcome{}, err
	}
	m := regexp.MustCompile(`(\d+) requests in ([\d.]+)s`).FindSubmatch(out)
	if m == nil {
		return outcome{}, fmt.Errorf("wrk printed no count of requests: %s", out)
	}
	requests, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		return outcome{}, err
	}
	seconds, err := strconv.ParseFloat(string(m[2]), 64)
	return outcome{requests, seconds, cpu.Seconds()}, err
}
