package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const orders, rounds = 20_000, 20

// The CPU time of this process and of the server's, in seconds.
func cpu(t *testing.T, r *redis.Client) [2]float64 {
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

type counted struct {
	broker
	sent *atomic.Int64
}

func (c counted) send(to string, entries []redis.XMessage) []string {
	confirmed := c.broker.send(to, entries)
	c.sent.Add(int64(len(confirmed)))
	return confirmed
}

// The same messages in turn: by the broker's client alone, a batch at a time, which waits for its
// confirms; by as many workers as the bridge has; and by the bridge. A first round, which warms the
// broker up, is not counted.
func TestSpeed(t *testing.T) {
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil || os.Getenv("BROKER") == "" {
		t.Skip("no REDIS_URL, no BROKER")
	}
	r := redis.NewClient(options)
	all := make([]broker, workers)
	for at := range all {
		all[at] = brokers[os.Getenv("BROKER")](os.Getenv("ADDRESS"))
		if err := all[at].connect(); err != nil {
			t.Fatal(err)
		}
	}
	var working sync.WaitGroup
	each := func(workers []broker, work func(to broker)) {
		for _, to := range workers {
			working.Go(func() { work(to) })
		}
	}
	entries := []redis.XMessage{}
	alone := func(workers []broker) {
		batches := make(chan []redis.XMessage, orders/most)
		for at := 0; at < orders; at += most {
			batches <- entries[at%len(entries):][:most]
		}
		close(batches)
		each(workers, func(to broker) {
			for batch := range batches {
				if sent := to.send(streams[0], batch); len(sent) != most {
					t.Errorf("%d confirmed", len(sent))
				}
			}
		})
		working.Wait()
	}
	bridged := func() {
		sent := atomic.Int64{}
		each(all, func(to broker) { work(r, streams[0], counted{to, &sent}) }) // until the stream is gone
		for sent.Load() < orders {
			time.Sleep(time.Millisecond)
		}
		for {
			groups, err := r.XInfoGroups(ctx, streams[0]).Result()
			if err != nil {
				t.Fatal(err)
			} else if groups[0].Pending == 0 && groups[0].Lag == 0 {
				return
			}
		}
	}
	speed := func(send func()) [3]float64 { // messages/s, and us of both for each
		if queues, are := all[0].(*rabbitmq); are {
			if _, err := queues.channel.QueuePurge(streams[0], false); err != nil {
				t.Fatal(err)
			}
		}
		before, start := cpu(t, r), time.Now()
		send()
		wall, after := time.Since(start), cpu(t, r)
		r.FlushAll(ctx)
		working.Wait()
		us := func(at int) float64 { return (after[at] - before[at]) * 1e6 / orders }
		return [3]float64{orders / wall.Seconds(), us(0), us(1)}
	}
	ways := []func(){func() { alone(all[:1]) }, func() { alone(all) }, bridged}
	names := []string{"alone, a batch at a time", "alone, by as many workers", "bridge"}
	units := []string{"messages/s", "us of CPU for each", "us of Redis", "the bridge's ratio to it"}
	samples := map[string][]float64{}
	r.FlushAll(ctx)
	for round := 0; round <= rounds; round++ {
		by := [3][3]float64{}
		for turn := range ways {
			pipe := r.Pipeline()
			for order := range orders {
				pipe.XAdd(ctx, &redis.XAddArgs{Stream: streams[0], Values: []any{"userId", order,
					"voucherId", "7", "id", 90071992547000 + order, "sale", "1795344856123456"}})
			}
			pipe.XGroupCreateMkStream(ctx, streams[0], group, "0")
			if _, err := pipe.Exec(ctx); err != nil {
				t.Fatal(err)
			}
			entries, _ = r.XRangeN(ctx, streams[0], "-", "+", 5*most).Result()
			way := (round + turn) % len(ways)
			by[way] = speed(ways[way])
		}
		for way, figures := range by {
			for at, figure := range append(figures[:], by[2][0]/figures[0]) {
				if name := names[way] + units[at]; round > 0 {
					samples[name] = append(samples[name], figure)
				}
			}
		}
	}
	for _, name := range names {
		fmt.Printf("%s, %s:", os.Getenv("BROKER"), name)
		for at, unit := range units {
			sample, digits := samples[name+unit], min(at, 1)*2
			sort.Float64s(sample)
			fmt.Printf(" %.*f (%.*f to %.*f) %s;", digits, sample[rounds/2], digits, sample[rounds/4],
				digits, sample[rounds*3/4], unit)
		}
		fmt.Println()
	}
}
