package main

import (
	"context"
	"log"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// RabbitMQ: the stream's name is the routing key, here of the default exchange. Persistent
// messages, confirms, and mandatory: without it, what no queue takes is confirmed, and gone.
type rabbit struct {
	url        string
	connection *amqp.Connection
	channel    *amqp.Channel
	returns    chan amqp.Return
}

func rabbitmq(url string) broker { return &rabbit{url: url} }

func (r *rabbit) ready(context.Context) error {
	if r.channel != nil && !r.channel.IsClosed() {
		return nil
	}
	if r.connection != nil {
		r.connection.CloseDeadline(time.Now().Add(time.Second))
	}
	var err error
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

func (r *rabbit) send(ctx context.Context, batch []entry) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	confirms := make([]*amqp.DeferredConfirmation, len(batch))
	for at, entry := range batch {
		confirms[at], _ = r.channel.PublishWithDeferredConfirmWithContext(ctx, "", entry.stream,
			true, false, amqp.Publishing{MessageId: entry.id, DeliveryMode: amqp.Persistent,
				ContentType: "application/json", Body: entry.json()})
	}
	failed := false
	for at, confirm := range confirms {
		if confirm != nil {
			batch[at].confirmed, _ = confirm.WaitContext(ctx)
		}
		failed = failed || !batch[at].confirmed
	}
	for len(r.returns) > 0 {
		returned, open := <-r.returns
		if !open { // with the channel, whose confirms all came before
			break
		}
		for at, entry := range batch {
			if entry.stream == returned.RoutingKey && entry.id == returned.MessageId {
				batch[at].confirmed = false
				log.Printf("no queue takes %s: %s", returned.RoutingKey, returned.ReplyText)
			}
		}
	}
	if failed { // a new connection, where a late confirm is of nobody
		r.connection.CloseDeadline(time.Now().Add(time.Second))
	}
}
