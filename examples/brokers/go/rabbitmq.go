package main

import (
	"context"
	"encoding/json"
	"log"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
)

// RabbitMQ: the stream's name is the routing key, here of the default exchange. Persistent
// messages, confirms, and mandatory: without it, what no queue takes is confirmed, and gone.
type rabbitmq struct {
	url        string
	connection *amqp.Connection
	channel    *amqp.Channel
	returns    chan amqp.Return
}

func newRabbitMQ(url string) broker { return &rabbitmq{url: url} }

func (r *rabbitmq) connect() (err error) {
	if r.connection, err = amqp.Dial(r.url); err != nil {
		return err
	}
	if r.channel, err = r.connection.Channel(); err != nil {
		return err
	}
	// A message is returned before it is confirmed, so those of a whole batch must have room here:
	// the client drops a return that finds none, and goes on to its confirm.
	r.returns = r.channel.NotifyReturn(make(chan amqp.Return, most))
	return r.channel.Confirm(false)
}

func (r *rabbitmq) close() { // a late confirm is of nobody
	if r.connection != nil {
		r.connection.CloseDeadline(time.Now().Add(time.Second))
	}
}

func (r *rabbitmq) send(queue string, entries []redis.XMessage) (confirmed []string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	confirms := make([]*amqp.DeferredConfirmation, len(entries))
	for at, entry := range entries {
		body, _ := json.Marshal(entry.Values)
		confirms[at], _ = r.channel.PublishWithDeferredConfirmWithContext(ctx, "", queue, true, false,
			amqp.Publishing{MessageId: entry.ID, DeliveryMode: amqp.Persistent,
				ContentType: "application/json", Body: body})
	}
	for at, confirm := range confirms {
		if confirm == nil {
			continue // the channel was closed
		}
		if is, _ := confirm.WaitContext(ctx); is {
			confirmed = append(confirmed, entries[at].ID)
		}
	}
	for len(r.returns) > 0 {
		returned := <-r.returns
		log.Printf("no queue takes %s: %s", queue, returned.ReplyText)
		confirmed = slices.DeleteFunc(confirmed, func(id string) bool { return id == returned.MessageId })
	}
	return confirmed
}
