// Sends the entries of the three streams to a broker, and acknowledges what it has confirmed:
// docs/brokers.md. Arguments: rabbitmq or kafka, and its address. REDIS_URL names the server.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math/rand"
	"os"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
)

// An entry that was idle for so long is sent again. Longer than a broker is waited for.
const group, takeOver = "broker", 30 * time.Second

var streams = []string{"stream.orders", "stream.orders.confirmed", "stream.orders.released"}
var me = fmt.Sprintf("bridge-%d-%x", os.Getpid(), rand.Int63())
var cursor = map[string]string{streams[0]: "0-0", streams[1]: "0-0", streams[2]: "0-0"}
var brokers = map[string]func(string) broker{"rabbitmq": rabbitmq, "kafka": kafka}

type entry struct{ stream, id, order, json string }
type broker interface {
	ready(context.Context) error          // connects, if it has to
	send(context.Context, []entry) []bool // which of them the broker has confirmed
}

// Adds what JSON can hold. An entry with a value that is not UTF-8 stays pending.
func add(batch []entry, stream string, messages []redis.XMessage) []entry {
	for _, message := range messages {
		if fields, _ := json.Marshal(message.Values); utf8.ValidString(fmt.Sprint(message.Values)) {
			order, _ := message.Values["id"].(string)
			batch = append(batch, entry{stream, message.ID, order, string(fields)})
		} else {
			log.Printf("%s of %s stays pending: it is not UTF-8", message.ID, stream)
		}
	}
	return batch
}

func step(ctx context.Context, r *redis.Client, to broker) error {
	if err := to.ready(ctx); err != nil {
		return err // while the broker is away nothing is read
	}
	batch, ids := []entry{}, map[string][]string{}
	for _, stream := range streams {
		idle, next, trimmed, err := r.XAutoClaimWithDeleted(ctx, &redis.XAutoClaimArgs{Stream: stream,
			Group: group, Consumer: me, MinIdle: takeOver, Start: cursor[stream], Count: 100}).Result()
		if err != nil {
			return err
		}
		if len(trimmed) > 0 {
			log.Printf("LOST: trimmed from %s before they were sent: %v", stream, trimmed)
		}
		cursor[stream] = next
		batch = add(batch, stream, idle)
	}
	fresh, err := r.XReadGroup(ctx, &redis.XReadGroupArgs{Group: group, Consumer: me, Count: 500,
		Block: time.Second, Streams: append(streams[:3:3], ">", ">", ">")}).Result()
	if err != nil && err != redis.Nil {
		return err
	}
	for _, read := range fresh {
		batch = add(batch, read.Stream, read.Messages)
	}
	for at, confirmed := range to.send(ctx, batch) {
		if stream := batch[at].stream; confirmed {
			ids[stream] = append(ids[stream], batch[at].id)
		} else {
			log.Printf("%s of %s stays pending: it is not confirmed", batch[at].id, stream)
		}
	}
	for stream, confirmed := range ids {
		if err := r.XAck(ctx, stream, group, confirmed...).Err(); err != nil {
			return err // they are sent again
		}
	}
	return nil
}

func main() {
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	r, to, ctx := redis.NewClient(options), brokers[os.Args[1]](os.Args[2]), context.Background()
	for {
		if err := step(ctx, r, to); err != nil {
			log.Print(err) // a server is down, or a group is missing
			time.Sleep(time.Second)
			for _, stream := range streams {
				r.XGroupCreateMkStream(ctx, stream, group, "0")
			}
		}
	}
}
