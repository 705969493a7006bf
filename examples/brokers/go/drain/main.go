// Takes what is in lines or topics of the three streams, and prints a line for each message:
// stream, voucher, sale and order id, by which a consumer tells repeats apart. Declares the queues,
// of the type that QUEUES names.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

var streams = []string{"stream.orders", "stream.orders.confirmed", "stream.orders.released"}

func print(stream string, body []byte) {
	var order struct{ VoucherId, Sale, Id string }
	check(json.Unmarshal(body, &order))
	fmt.Println(stream, order.VoucherId, order.Sale, order.Id)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func rabbitmq(url string) {
	connection, err := amqp.Dial(url)
	check(err)
	channel, err := connection.Channel()
	check(err)
	for _, stream := range streams {
		kind := amqp.Table{"x-queue-type": cmp.Or(os.Getenv("QUEUES"), "classic")}
		_, err := channel.QueueDeclare(stream, true, false, false, false, kind)
		check(err)
		for {
			message, there, err := channel.Get(stream, false)
			check(err)
			if !there {
				break
			}
			print(stream, message.Body)
			check(message.Ack(false))
		}
	}
	check(connection.Close())
}

func kafka(address string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumeTopics(streams...),
		kgo.AllowAutoTopicCreation(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	check(err)
	for {
		// Five seconds without a message: those are all.
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		fetches := client.PollFetches(ctx)
		cancel()
		if fetches.Empty() {
			return
		}
		fetches.EachRecord(func(record *kgo.Record) { print(record.Topic, record.Value) })
	}
}

func main() {
	map[string]func(string){"rabbitmq": rabbitmq, "kafka": kafka}[os.Args[1]](os.Args[2])
}
