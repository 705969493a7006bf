package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const orders, rounds, size = 20_000, 20, 500

func check(t *testing.T, batch []entry) {
	for _, entry := range batch {
		if !entry.confirmed {
			t.Fatal("not confirmed")
		}
	}
}

// The CPU time of this process and of the server's, in seconds.
func cpu(t *testing.T, ctx context.Context, r *redis.Client) [2]float64 {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	}
	var system, user float64
	info := strings.Fields(r.Info(ctx, "cpu").Val())
	if _, err := fmt.Sscanf(strings.Join(info[2:4], " "), "used_cpu_sys:%g used_cpu_user:%g",
		&system, &user); err != nil {
		t.Fatal(err, info)
	}
	return [2]float64{float64(own.Utime.Nano()+own.Stime.Nano()) / 1e9, system + user}
}

// The same messages by the broker's client alone, in batches that wait for their confirms, and by
// the bridge from the stream, in turn. A first round, which warms the broker up, is not counted.
func TestSpeed(t *testing.T) {
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil || os.Getenv("BROKER") == "" {
		t.Skip("no REDIS_URL, no BROKER")
	}
	r, ctx := redis.NewClient(options), context.Background()
	to := brokers[os.Getenv("BROKER")](os.Getenv("ADDRESS"))
	if err := to.ready(ctx); err != nil {
		t.Fatal(err)
	}
	messages := []redis.XMessage{}
	alone := func() {
		for at := 0; at < orders; at += size {
			batch := add(nil, streams[0], messages[at%len(messages):][:size])
			to.send(ctx, batch)
			check(t, batch)
		}
	}
	left := make(<-chan []entry)
	bridged := func() {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		left = bridge(ctx, r, to)
		for sent := 0; sent < orders; {
			batch := <-left
			check(t, batch)
			if err := acknowledge(ctx, r, batch); err != nil {
				t.Fatal(err)
			}
			sent += len(batch)
		}
	}
	speed := func(send func()) [3]float64 { // messages/s, and us of both for each
		if queues, are := to.(*rabbit); are {
			if _, err := queues.channel.QueuePurge(streams[0], false); err != nil {
				t.Fatal(err)
			}
		}
		before, start := cpu(t, ctx, r), time.Now()
		send()
		wall, after := time.Since(start), cpu(t, ctx, r)
		us := func(at int) float64 { return (after[at] - before[at]) * 1e6 / orders }
		return [3]float64{orders / wall.Seconds(), us(0), us(1)}
	}
	ratios, all := []float64{}, map[bool]*[3][]float64{false: {}, true: {}}
	for round := 0; round <= rounds; round++ {
		r.FlushAll(ctx)
		createGroups(ctx, r)
		pipe := r.Pipeline()
		for order := 0; order < orders; order++ {
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: streams[0], Values: []any{"userId", order,
				"voucherId", "7", "id", 90071992547000 + order, "sale", "1795344856123456"}})
		}
		if _, err := pipe.Exec(ctx); err != nil {
			t.Fatal(err)
		}
		messages, _ = r.XRangeN(ctx, streams[0], "-", "+", 5*size).Result()
		by := map[bool][3]float64{}
		for _, first := range []bool{round%2 == 0, round%2 != 0} {
			by[first] = speed(map[bool]func(){true: bridged, false: alone}[first])
		}
		for range left { // it may still wait for entries
			t.Fatal("more than all")
		}
		if groups, err := r.XInfoGroups(ctx, streams[0]).Result(); err != nil ||
			groups[0].Pending != 0 || groups[0].Lag != 0 {
			t.Fatal("not all is acknowledged: ", groups, err)
		}
		if round > 0 {
			ratios = append(ratios, by[true][0]/by[false][0])
			for which, figures := range by {
				for at, figure := range figures {
					all[which][at] = append(all[which][at], figure)
				}
			}
		}
	}
	quarters := func(digits int, sample []float64) string {
		sort.Float64s(sample)
		return fmt.Sprintf("%.*f (%.*f to %.*f)", digits, sample[rounds/2], digits,
			sample[rounds/4], digits, sample[rounds*3/4])
	}
	fmt.Printf("%s: alone %s messages/s, by the bridge %s; ratio %s\n", os.Getenv("BROKER"),
		quarters(0, all[false][0]), quarters(0, all[true][0]), quarters(2, ratios))
	fmt.Printf("us of CPU for a message: alone %s, in the bridge %s, in Redis %s\n",
		quarters(2, all[false][1]), quarters(2, all[true][1]), quarters(2, all[true][2]))
}
