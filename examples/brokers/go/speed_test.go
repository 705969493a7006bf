package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
)

const orders, most, workers, rounds, stream = 40_000, 1000, 3, 12, "stream.orders"

var ctx = context.Background()

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Sends a batch by the broker's client alone, and waits until it is confirmed.
type send func(batch []redis.XMessage)

func body(entry redis.XMessage) []byte {
	body, _ := json.Marshal(entry.Values)
	return body
}

func throughRabbitMQ(channel *amqp.Channel) send {
	return func(batch []redis.XMessage) {
		confirms := []*amqp.DeferredConfirmation{}
		for _, entry := range batch {
			confirm, err := channel.PublishWithDeferredConfirm("", stream, true, false,
				amqp.Publishing{MessageId: entry.ID, DeliveryMode: amqp.Persistent,
					ContentType: "application/json", Body: body(entry)})
			check(err)
			confirms = append(confirms, confirm)
		}
		for _, confirm := range confirms {
			if !confirm.Wait() {
				log.Fatal("not confirmed")
			}
		}
	}
}

func throughKafka(client *kgo.Client) send {
	return func(batch []redis.XMessage) {
		records := []*kgo.Record{}
		for _, entry := range batch {
			records = append(records, &kgo.Record{Topic: stream, Value: body(entry),
				Key:     []byte(entry.Values["id"].(string)),
				Headers: []kgo.RecordHeader{{Key: "entry", Value: []byte(entry.ID)}}})
		}
		check(client.ProduceSync(ctx, records...).FirstErr())
	}
}

// The CPU time of this process and of the server's, in microseconds.
func cpu(r *redis.Client) [2]float64 {
	var own syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &own))
	var system, user float64
	info := strings.Fields(r.Info(ctx, "cpu").Val())
	_, err := fmt.Sscanf(strings.Join(info[2:4], " "), "used_cpu_sys:%g used_cpu_user:%g",
		&system, &user)
	check(err)
	return [2]float64{float64(own.Utime.Nano()+own.Stime.Nano()) / 1e3, (system + user) * 1e6}
}

// The same messages in turn: by the broker's client alone, a batch at a time, which waits for its
// confirms; by as many workers as the bridge has; and by the bridge, which waits for its stream
// meanwhile. A first round, which warms the broker up, is not counted.
func TestSpeed(t *testing.T) {
	name, address := os.Getenv("BROKER"), os.Getenv("ADDRESS")
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil || name == "" {
		t.Skip("no REDIS_URL, no BROKER")
	}
	r := redis.NewClient(options)
	purge, sends := func() {}, []send{}
	for range workers {
		if name == "kafka" {
			client, err := kgo.NewClient(kgo.SeedBrokers(address))
			check(err)
			sends = append(sends, throughKafka(client))
			continue
		}
		connection, err := amqp.Dial(address)
		check(err)
		channel, err := connection.Channel()
		check(err)
		check(channel.Confirm(false))
		sends = append(sends, throughRabbitMQ(channel))
		purge = func() { channel.QueuePurge(stream, false) }
	}
	go bridges[name](r, stream, address)
	entries := []redis.XMessage{}
	for order := range orders {
		entries = append(entries, redis.XMessage{ID: fmt.Sprint("1795344856123-", order),
			Values: map[string]any{"userId": fmt.Sprint(order), "voucherId": "7",
				"id": fmt.Sprint(90071992547000 + order), "sale": "1795344856123456"}})
	}
	alone := func(workers int) {
		batches, working := make(chan []redis.XMessage, orders/most), sync.WaitGroup{}
		for batch := range slices.Chunk(entries, most) {
			batches <- batch
		}
		close(batches)
		for _, send := range sends[:workers] {
			working.Go(func() {
				for batch := range batches {
					send(batch)
				}
			})
		}
		working.Wait()
	}
	bridged := func() {
		for {
			groups, err := r.XInfoGroups(ctx, stream).Result()
			check(err)
			if len(groups) == 1 && groups[0].Pending == 0 && groups[0].Lag == 0 {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	fill := redis.NewScript(`for order = 0, ARGV[1] - 1 do
		redis.call('XADD', KEYS[1], '*', 'userId', order, 'voucherId', '7',
			'id', string.format('%.0f', 90071992547000 + order), 'sale', '1795344856123456') end
		return 1`)
	names := []string{"alone, a batch at a time", "alone, by as many workers", "bridge"}
	units := []string{"messages/s", "us of CPU for each", "us of Redis", "the bridge's ratio to it"}
	samples := map[string][]float64{}
	for round := 0; round <= rounds; round++ {
		by := [3][3]float64{}
		for turn := range by {
			way := (round + turn) % len(by)
			purge()
			r.XTrimMaxLen(ctx, stream, 0)
			if way == 2 {
				check(fill.Run(ctx, r, []string{stream}, orders).Err())
			}
			before, start := cpu(r), time.Now()
			[]func(){func() { alone(1) }, func() { alone(workers) }, bridged}[way]()
			by[way][0] = orders / time.Since(start).Seconds()
			after := cpu(r)
			by[way][1], by[way][2] = (after[0]-before[0])/orders, (after[1]-before[1])/orders
		}
		for way, figures := range by {
			for at, figure := range append(figures[:], by[2][0]/figures[0]) {
				if name := names[way] + units[at]; round > 0 {
					samples[name] = append(samples[name], figure)
				}
			}
		}
	}
	for _, way := range names {
		fmt.Printf("%s, %s:", name, way)
		for at, unit := range units {
			sample, digits := samples[way+unit], min(at, 1)*2
			slices.Sort(sample)
			fmt.Printf(" %.*f (%.*f to %.*f) %s;", digits, sample[rounds/2], digits, sample[rounds/4],
				digits, sample[rounds*3/4], unit)
		}
		fmt.Println()
	}
}
