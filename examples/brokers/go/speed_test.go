package main

import (
	"context"
	"fmt"
	"os"
	"sort"
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
	speed := func(send func()) float64 {
		if queues, are := to.(*rabbit); are {
			if _, err := queues.channel.QueuePurge(streams[0], false); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		send()
		return orders / time.Since(start).Seconds()
	}
	ratios, all := []float64{}, map[bool][]float64{}
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
		by := map[bool]float64{}
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
			ratios = append(ratios, by[true]/by[false])
			all[false], all[true] = append(all[false], by[false]), append(all[true], by[true])
		}
	}
	quarters := func(digits int, sample []float64) string {
		sort.Float64s(sample)
		return fmt.Sprintf("%.*f (%.*f to %.*f)", digits, sample[rounds/2], digits,
			sample[rounds/4], digits, sample[rounds*3/4])
	}
	fmt.Printf("%s: alone %s messages/s, by the bridge %s; ratio %s\n", os.Getenv("BROKER"),
		quarters(0, all[false]), quarters(0, all[true]), quarters(2, ratios))
}
