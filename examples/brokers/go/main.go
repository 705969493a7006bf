// Starts a bridge for each of the three streams: docs/brokers.md
package main

import (
	"log"
	"os"
	"seckill-bridge/kafka"
	"seckill-bridge/rabbitmq"

	"github.com/redis/go-redis/v9"
)

var bridges = map[string]func(r *redis.Client, stream, address string){
	"rabbitmq": rabbitmq.Bridge, "kafka": kafka.Bridge}

// Arguments: rabbitmq or kafka, and its address. REDIS_URL names the server.
func main() {
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	streams := []string{"stream.orders", "stream.orders.confirmed", "stream.orders.released"}
	for _, stream := range streams {
		go bridges[os.Args[1]](redis.NewClient(options), stream, os.Args[2])
	}
	select {}
}
