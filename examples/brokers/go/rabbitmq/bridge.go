// Package rabbitmq sends the entries of a stream to the queue of the same name, and acknowledges
// what RabbitMQ has confirmed. All else stays pending, and is sent again: docs/brokers.md
package rabbitmq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"
	"unicode/utf8"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
)

// All bridges are one consumer: its history is what any of them has read and not acknowledged.
const group, consumer = "broker", "bridge"

var ctx = context.Background()

// Bridge never returns. While one worker waits for confirms, another reads; the last one sends what
// is pending. It reads more at once than all are sending, or its round would not end meanwhile.
func Bridge(r *redis.Client, stream, url string) {
	for range 3 {
		go work(r, stream, ">", 1000, url, time.Second)
	}
	work(r, stream, "0", 10000, url, 30*time.Second)
}

// Whatever fails, all is opened anew.
func work(r *redis.Client, stream, after string, most int, url string, pause time.Duration) {
	for ; ; time.Sleep(pause) {
		r.XGroupCreateMkStream(ctx, stream, group, "0") // unless it is there
		connection, err := amqp.Dial(url)               // nothing is read while the broker is away
		if err == nil {
			err = round(r, stream, after, most, connection)
			connection.CloseDeadline(time.Now().Add(time.Second))
		}
		if err != nil {
			log.Printf("%s: %v", stream, err)
		}
	}
}

// Sends what is new, after ">", until something fails, or once all that is pending, after an id.
func round(r *redis.Client, stream, after string, most int, connection *amqp.Connection) error {
	channel, err := connection.Channel()
	if err != nil {
		return err
	}
	returns := channel.NotifyReturn(make(chan amqp.Return, most)) // drops what finds no room
	if err := channel.Confirm(false); err != nil {
		return err
	}
	for {
		read, err := r.XReadGroup(ctx, &redis.XReadGroupArgs{Group: group, Consumer: consumer,
			Streams: []string{stream, after}, Count: int64(most), Block: time.Second}).Result()
		if err == redis.Nil {
			continue
		} else if err != nil {
			return err
		}
		done, err := send(read[0].Messages, stream, channel)
		if len(returns) > 0 { // a message is returned before it is confirmed
			return fmt.Errorf("no queue takes it: %s", (<-returns).ReplyText)
		}
		if len(done) > 0 {
			err = errors.Join(err, r.XAck(ctx, stream, group, done...).Err())
		}
		if full := len(read[0].Messages) == most; err != nil || after != ">" && !full {
			return err
		} else if after != ">" {
			after = read[0].Messages[most-1].ID
		}
	}
}

// Returns the ids of what is confirmed, or lost.
func send(batch []redis.XMessage, queue string, channel *amqp.Channel) (done []string, err error) {
	confirms := map[string]*amqp.DeferredConfirmation{}
	for _, m := range batch {
		body, _ := json.Marshal(m.Values)
		if m.Values == nil {
			log.Printf("LOST: %s was trimmed from %s unacknowledged", m.ID, queue)
			done = append(done, m.ID)
		} else if !utf8.ValidString(fmt.Sprint(m.Values)) { // JSON would change it
			log.Printf("%s of %s stays pending: it is not UTF-8", m.ID, queue)
		} else if confirms[m.ID], err = channel.PublishWithDeferredConfirm("", queue, true, false,
			amqp.Publishing{MessageId: m.ID, DeliveryMode: amqp.Persistent,
				ContentType: "application/json", Body: body}); err != nil {
			return done, err
		}
	}
	until, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for id, confirm := range confirms {
		if is, _ := confirm.WaitContext(until); is {
			done = append(done, id)
		} else {
			err = fmt.Errorf("%s is not confirmed", id)
		}
	}
	return done, err
}
