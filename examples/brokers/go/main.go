// Sends the entries of the three streams to a broker, and acknowledges what it has confirmed. All
// else stays pending, and is sent again: docs/brokers.md
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
)

// Bridges have one name, as they take over from each other and from themselves by time alone: after
// longer than a broker is waited for, twice.
const group, consumer, takeOver = "broker", "bridge", 30 * time.Second

// Each stream has so many workers. A worker sends one batch, and waits until it is confirmed.
const workers, most = 3, 500

var streams = []string{"stream.orders", "stream.orders.confirmed", "stream.orders.released"}
var ctx = context.Background()

type broker interface {
	connect() error
	send(to string, entries []redis.XMessage) []string // the ids of those that it has confirmed
	close()
}

var brokers = map[string]func(address string) broker{"rabbitmq": newRabbitMQ, "kafka": newKafka}

// Reads, sends and acknowledges until something fails.
func work(r *redis.Client, stream string, to broker) error {
	from, looked := "0-0", time.Time{}
	for {
		var entries []redis.XMessage
		if time.Since(looked) > time.Second { // at what nobody has acknowledged for long
			idle, next, trimmed, err := r.XAutoClaimWithDeleted(ctx, &redis.XAutoClaimArgs{Group: group,
				Stream: stream, Consumer: consumer, MinIdle: takeOver, Start: from, Count: 100}).Result()
			if err != nil {
				return err
			}
			if len(trimmed) > 0 {
				log.Printf("LOST: trimmed from %s before they were sent: %v", stream, trimmed)
			}
			if entries, from = idle, next; next == "0-0" {
				looked = time.Now()
			}
		} else {
			read, err := r.XReadGroup(ctx, &redis.XReadGroupArgs{Group: group, Consumer: consumer,
				Streams: []string{stream, ">"}, Count: most, Block: time.Second}).Result()
			if err == redis.Nil {
				continue
			} else if err != nil {
				return err
			}
			entries = read[0].Messages
		}
		entries = texts(stream, entries)
		confirmed := to.send(stream, entries)
		if len(confirmed) > 0 {
			if err := r.XAck(ctx, stream, group, confirmed...).Err(); err != nil {
				return err
			}
		}
		if left := len(entries) - len(confirmed); left > 0 {
			return fmt.Errorf("%d entries of %s stay pending: not confirmed", left, stream)
		}
	}
}

// JSON can't hold all bytes: what is not UTF-8 stays pending.
func texts(stream string, entries []redis.XMessage) (texts []redis.XMessage) {
next:
	for _, entry := range entries {
		for name, value := range entry.Values {
			if !utf8.ValidString(name) || !utf8.ValidString(value.(string)) {
				log.Printf("%s of %s stays pending: it is not UTF-8", entry.ID, stream)
				continue next
			}
		}
		texts = append(texts, entry)
	}
	return texts
}

// Whatever fails, all is opened anew.
func forever(r *redis.Client, stream string, to broker) {
	for ; ; time.Sleep(time.Second) {
		r.XGroupCreateMkStream(ctx, stream, group, "0") // unless it is there
		err := to.connect()
		if err == nil {
			err = work(r, stream, to)
		}
		to.close()
		log.Print(err)
	}
}

// Arguments: rabbitmq or kafka, and its address. REDIS_URL names the server.
func main() {
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	r := redis.NewClient(options)
	for range workers {
		for _, stream := range streams {
			go forever(r, stream, brokers[os.Args[1]](os.Args[2]))
		}
	}
	select {}
}
