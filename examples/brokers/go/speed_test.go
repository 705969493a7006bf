package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// The same messages by the broker's client alone, in batches that wait for their confirms, and by
// the bridge from the stream, in turn.
func TestSpeed(t *testing.T) {
	const orders = 5_000
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil || os.Getenv("BROKER") == "" {
		t.Skip("no REDIS_URL, no BROKER")
	}
	r, ctx := redis.NewClient(options), context.Background()
	to := brokers[os.Getenv("BROKER")](os.Getenv("ADDRESS"))
	if err := to.ready(ctx); err != nil {
		t.Fatal(err)
	}
	fields := []any{"userId", "1010", "voucherId", "7", "id", "0", "sale", "1795344856123456"}
	for round := 0; round < 3; round++ {
		r.FlushAll(ctx)
		pipe, batch := r.Pipeline(), []entry{}
		for order := 0; order < orders; order++ {
			fields[5] = fmt.Sprint(90071992547000 + order)
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: streams[0], Values: fields})
		}
		if _, err := pipe.Exec(ctx); err != nil {
			t.Fatal(err)
		}
		messages, _ := r.XRange(ctx, streams[0], "-", "+").Result()
		batch = add(batch, streams[0], messages)
		for _, stream := range streams {
			r.XGroupCreateMkStream(ctx, stream, group, "0")
		}
		start := time.Now()
		for at := 0; at < orders; at += 500 {
			for _, confirmed := range to.send(ctx, batch[at:at+500]) {
				if !confirmed {
					t.Fatal("not confirmed")
				}
			}
		}
		alone := time.Since(start).Seconds()
		start = time.Now()
		for at := 0; at < orders; at += 500 {
			if err := step(ctx, r, to); err != nil {
				t.Fatal(err)
			}
		}
		bridge := time.Since(start).Seconds()
		if pending, _ := r.XPending(ctx, streams[0], group).Result(); pending.Count != 0 {
			t.Fatal("pending: ", pending.Count)
		}
		fmt.Printf("%s: alone %.0f messages/s, by the bridge %.0f, ratio %.2f\n",
			os.Getenv("BROKER"), orders/alone, orders/bridge, alone/bridge)
	}
}
