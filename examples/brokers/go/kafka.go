package main

import (
	"encoding/json"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Kafka: the stream's name is the topic, and the order id the key, so that the repeats of an order
// are in one partition. Acks of all replicas in sync and idempotence are this client's defaults.
type kafka struct{ *kgo.Client }

func newKafka(addresses string) broker {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(addresses, ",")...),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordDeliveryTimeout(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	return kafka{client}
}

func (k kafka) connect() error { return k.Ping(ctx) }
func (k kafka) close()         {} // it connects anew by itself

func (k kafka) send(topic string, entries []redis.XMessage) (confirmed []string) {
	records := make([]*kgo.Record, len(entries))
	for at, entry := range entries {
		body, _ := json.Marshal(entry.Values)
		records[at] = &kgo.Record{Topic: topic, Key: []byte(fmt.Sprint(entry.Values["id"])), Value: body,
			Headers: []kgo.RecordHeader{{Key: "entry", Value: []byte(entry.ID)}}}
	}
	for _, result := range k.ProduceSync(ctx, records...) { // in any order
		if result.Err != nil {
			log.Printf("%s: %v", topic, result.Err)
		} else {
			confirmed = append(confirmed, string(result.Record.Headers[0].Value))
		}
	}
	return confirmed
}
