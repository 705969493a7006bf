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
	ready(context.Context) error          // connects, if it has to
	send(context.Context, []entry) []bool // which of them the broker has confirmed
}

var brokers = map[string]func(string) broker{"rabbitmq": rabbitmq, "kafka": kafka}

var acknowledged = make(chan error, 1) // how the batch before fared

// Sends a batch. Meanwhile the one before is acknowledged and the next one is read, which stays
// pending if this fails.
func step(ctx context.Context, r *redis.Client, to broker, batch []entry) ([]entry, error) {
	if err := to.ready(ctx); err != nil {
		return nil, err // while the broker is away nothing is read
	}
	var next []entry
	read := make(chan error)
	go func() {
		var err error
		next, err = unread(ctx, r)
		read <- err
	}()
	confirmed := to.send(ctx, batch)
	failed := <-acknowledged
	go func() { acknowledged <- acknowledge(ctx, r, batch, confirmed) }()
	if err := <-read; err != nil {
		return nil, err
	}
	return next, failed
}

func main() {
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	r, to, ctx := redis.NewClient(options), brokers[os.Args[1]](os.Args[2]), context.Background()
	acknowledged <- nil
	for batch := []entry(nil); ; {
		if batch, err = step(ctx, r, to, batch); err != nil {
			log.Print(err) // a server is down, or a group is missing
			time.Sleep(time.Second)
			createGroups(ctx, r)
		}
	}
}
