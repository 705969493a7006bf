// Package kafka sends the entries of a stream to the topic of the same name, and acknowledges what
// Kafka has confirmed. All else stays pending, and is sent again: docs/brokers.md
package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
)

// All bridges are one consumer: its history is what any of them has read and not acknowledged.
const group, consumer = "broker", "bridge"

var ctx = context.Background()

// Bridge never returns. While one worker waits for Kafka, another reads; the last one sends what is
// pending. It reads more at once than all are sending, or its round would not end meanwhile.
func Bridge(r *redis.Client, stream, addresses string) {
	k, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(addresses, ",")...), // it is idempotent
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordDeliveryTimeout(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		go work(r, stream, ">", 1000, k, time.Second)
	}
	work(r, stream, "0", 10000, k, 30*time.Second)
}

// Begins anew, whatever fails.
func work(r *redis.Client, stream, after string, most int, k *kgo.Client, pause time.Duration) {
	for ; ; time.Sleep(pause) {
		r.XGroupCreateMkStream(ctx, stream, group, "0") // unless it is there
		err := k.Ping(ctx)                              // nothing is read while the broker is away
		if err == nil {
			err = round(r, stream, after, most, k)
		}
		if err != nil {
			log.Printf("%s: %v", stream, err)
		}
	}
}

// Sends what is new, after ">", until something fails, or once all that is pending, after an id.
func round(r *redis.Client, stream, after string, most int, k *kgo.Client) error {
	for {
		read, err := r.XReadGroup(ctx, &redis.XReadGroupArgs{Group: group, Consumer: consumer,
			Streams: []string{stream, after}, Count: int64(most), Block: time.Second}).Result()
		if err == redis.Nil {
			continue
		} else if err != nil {
			return err
		}
		done, err := send(read[0].Messages, stream, k)
		if len(done) > 0 {
			err = errors.Join(err, r.XAck(ctx, stream, group, done...).Err())
		}
		if full := len(read[0].Messages) == most; after == ">" && err != nil || after != ">" && !full {
			return err
		} else if after != ">" { // also if Kafka refuses an entry: it holds up nothing behind it
			after = read[0].Messages[most-1].ID
		}
	}
}

// Returns the ids of what is confirmed, or lost.
func send(batch []redis.XMessage, topic string, k *kgo.Client) (done []string, err error) {
	var records []*kgo.Record
	for _, m := range batch {
		body, _ := json.Marshal(m.Values)
		if m.Values == nil {
			log.Printf("LOST: %s was trimmed from %s unacknowledged", m.ID, topic)
			done = append(done, m.ID)
		} else if !isText(m.Values) {
			log.Printf("%s of %s stays pending: it is not UTF-8", m.ID, topic)
		} else { // by its order id, so that the repeats of an order are in one partition
			records = append(records, &kgo.Record{Topic: topic, Key: fmt.Append(nil, m.Values["id"]),
				Value: body, Headers: []kgo.RecordHeader{{Key: "entry", Value: []byte(m.ID)}}})
		}
	}
	for _, result := range k.ProduceSync(ctx, records...) { // in any order
		if result.Err == nil {
			done = append(done, string(result.Record.Headers[0].Value))
		} else {
			err = result.Err
			log.Printf("%s of %s stays pending: %v", result.Record.Headers[0].Value, topic, err)
		}
	}
	return done, err
}

// JSON would change what is not UTF-8.
func isText(fields map[string]any) bool {
	for name, value := range fields {
		if !utf8.ValidString(name) || !utf8.ValidString(value.(string)) {
			return false
		}
	}
	return true
}
