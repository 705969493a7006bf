package main

import (
	"cmp"
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

// How many entries of a stream are read and taken over at once, and the most in a batch.
const fresh, stale = 500, 100
const most = 3 * (fresh + stale)

// An entry that was idle for so long is sent again. Longer than a broker is waited for, twice.
const group, takeOver = "broker", 30 * time.Second

var streams = []string{"stream.orders", "stream.orders.confirmed", "stream.orders.released"}
var me = fmt.Sprintf("bridge-%d-%x", os.Getpid(), rand.Int63())
var cursor, claimed = map[string]string{}, map[string]time.Time{}

type entry struct {
	stream, id string
	fields     map[string]any
	confirmed  bool
}

func (e entry) json() []byte {
	text, _ := json.Marshal(e.fields)
	return text
}

// Adds what JSON can hold. An entry with a name or a value that is not UTF-8 stays pending.
func add(batch []entry, stream string, messages []redis.XMessage) []entry {
next:
	for _, message := range messages {
		for name, value := range message.Values {
			if text, _ := value.(string); !utf8.ValidString(name) || !utf8.ValidString(text) {
				log.Printf("%s of %s stays pending: it is not UTF-8", message.ID, stream)
				continue next
			}
		}
		batch = append(batch, entry{stream: stream, id: message.ID, fields: message.Values})
	}
	return batch
}

// What nobody has acknowledged for long, and new entries. Waits a second for them.
func unread(ctx context.Context, r *redis.Client) ([]entry, error) {
	batch := []entry{}
	for _, stream := range streams {
		if time.Since(claimed[stream]) < time.Second {
			continue // it looks at all that is pending, which costs more than to read
		}
		idle, next, trimmed, err := r.XAutoClaimWithDeleted(ctx, &redis.XAutoClaimArgs{
			Stream: stream, Group: group, Consumer: me, MinIdle: takeOver,
			Start: cmp.Or(cursor[stream], "0-0"), Count: stale}).Result()
		if err != nil {
			return nil, err
		}
		if len(trimmed) > 0 {
			log.Printf("LOST: trimmed from %s before they were sent: %v", stream, trimmed)
		}
		if cursor[stream] = next; next == "0-0" {
			claimed[stream] = time.Now()
		}
		batch = add(batch, stream, idle)
	}
	read, err := r.XReadGroup(ctx, &redis.XReadGroupArgs{Group: group, Consumer: me, Count: fresh,
		Block: time.Second, Streams: append(streams[:3:3], ">", ">", ">")}).Result()
	if err != nil && err != redis.Nil {
		return nil, err
	}
	for _, of := range read {
		batch = add(batch, of.Stream, of.Messages)
	}
	return batch, nil
}
