// Sends the entries of the three streams to a broker, and acknowledges what it has confirmed:
// docs/brokers.md. Arguments: rabbitmq or kafka, and its address. REDIS_URL names the server.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

type broker interface {
	ready(context.Context) error   // connects, if it has to
	send(context.Context, []entry) // and marks those that the broker has confirmed
}

var brokers = map[string]func(string) broker{"rabbitmq": rabbitmq, "kafka": kafka}

// How many batches may wait to be sent. While the broker is away no more are read.
const ahead = 3

// Reads batches until it is done.
func read(ctx context.Context, r *redis.Client, to chan<- []entry) {
	for ctx.Err() == nil {
		batch, err := unread(ctx, r)
		if err != nil {
			log.Print(err) // the server is down, or a group is missing
			time.Sleep(time.Second)
			createGroups(ctx, r)
		} else if len(batch) > 0 {
			to <- batch
		}
	}
	close(to)
}

// Sends each batch as soon as the broker is there.
func send(ctx context.Context, by broker, from <-chan []entry, to chan<- []entry) {
	for batch := range from {
		for err := by.ready(ctx); err != nil; err = by.ready(ctx) {
			log.Print(err)
			time.Sleep(time.Second)
		}
		by.send(ctx, batch)
		to <- batch
	}
	close(to)
}

// One batch is read, another is sent, and a third is acknowledged, all at once. The caller does
// the last.
func bridge(ctx context.Context, r *redis.Client, to broker) <-chan []entry {
	batches, sent := make(chan []entry, ahead), make(chan []entry, ahead)
	go read(ctx, r, batches)
	go send(ctx, to, batches, sent)
	return sent
}

func acknowledge(ctx context.Context, r *redis.Client, batch []entry) error {
	ids := map[string][]string{}
	for _, entry := range batch {
		if entry.confirmed {
			ids[entry.stream] = append(ids[entry.stream], entry.id)
		} else {
			log.Printf("%s of %s stays pending: it is not confirmed", entry.id, entry.stream)
		}
	}
	for stream, confirmed := range ids {
		if err := r.XAck(ctx, stream, group, confirmed...).Err(); err != nil {
			return err
		}
	}
	return nil
}

func createGroups(ctx context.Context, r *redis.Client) {
	for _, stream := range streams {
		r.XGroupCreateMkStream(ctx, stream, group, "0")
	}
}

func main() {
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	r, ctx := redis.NewClient(options), context.Background()
	for batch := range bridge(ctx, r, brokers[os.Args[1]](os.Args[2])) {
		if err := acknowledge(ctx, r, batch); err != nil {
			log.Print(err) // they are sent again
		}
	}
}
