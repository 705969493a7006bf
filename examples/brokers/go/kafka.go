package main

import (
	"context"
	"log"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Kafka: the stream's name is the topic, and the order id the key, so that the repeats of an order
// are in one partition. Acks of all replicas in sync and idempotence are this client's defaults.
type kafkaBroker struct {
	client *kgo.Client
	there  bool // it has just confirmed something
}

func kafka(addresses string) broker {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(addresses, ",")...),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordDeliveryTimeout(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	return &kafkaBroker{client: client}
}

func (k *kafkaBroker) ready(ctx context.Context) error {
	if k.there {
		return nil
	}
	return k.client.Ping(ctx)
}

func (k *kafkaBroker) send(ctx context.Context, batch []entry) {
	records := make([]*kgo.Record, len(batch))
	for at, entry := range batch {
		headers := []kgo.RecordHeader{{Key: "entry", Value: []byte(entry.id)}}
		order, _ := entry.fields["id"].(string)
		records[at] = &kgo.Record{Topic: entry.stream, Key: []byte(order), Value: entry.json(),
			Headers: headers}
	}
	results := k.client.ProduceSync(ctx, records...)
	failed := map[*kgo.Record]bool{} // the results come in any order
	for _, result := range results {
		if result.Err != nil {
			failed[result.Record] = true
			log.Printf("%s: %v", result.Record.Topic, result.Err)
		}
	}
	for at, record := range records {
		batch[at].confirmed = !failed[record]
	}
	k.there = len(batch) > 0 && len(failed) == 0
}
