#!/usr/bin/env bash
# NATS JetStream: a work queue whose consumer has MaxDeliver 2. It returns three orders twice by Nak, since the database is away.
# Guess: what has used up its deliveries is a dead letter, or is deleted, or counts as pending; a higher limit has it delivered.
# Seen with nats-server 2.15.3, nats.go 1.55.0: the orders stay in the stream, and the consumer says that nothing is pending, nothing
# waits for an acknowledgement, as if all was stored. Neither a restart nor a MaxDeliver of 10, which is accepted, has
# them delivered; new orders are. A work queue keeps them for ever. Only a new consumer gets them, from their first delivery, when the
# old one is deleted. So watch the stream's count of messages, not the consumer's, and leave MaxDeliver out (-1, the
# default) where there is no program that reads the advisories of it.
. "$(dirname "$0")/common.sh"
nats_program <<'GO'
func main() {
	ctx := context.Background()
	broker, js := start(os.Args[1])
	stream := must(js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "orders", Subjects: []string{"orders"}, Retention: jetstream.WorkQueuePolicy,
	}))
	consumer := must(stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "worker", MaxDeliver: 2}))
	read := func(what string, answer func(jetstream.Msg) error) {
		fmt.Print(what, ":")
		for message := range must(consumer.Fetch(10, jetstream.FetchMaxWait(3*time.Second))).Messages() {
			fmt.Print(" ", string(message.Data()), "/", must(message.Metadata()).NumDelivered)
			if err := answer(message); err != nil {
				panic(err)
			}
		}
		fmt.Println()
	}
	look := func() {
		info := must(consumer.Info(ctx))
		fmt.Println("pending", info.NumPending, "unacknowledged", info.NumAckPending,
			"stored", must(stream.Info(ctx)).State.Msgs)
	}
	for id := 1; id <= 3; id++ {
		must(js.Publish(ctx, "orders", fmt.Append(nil, id)))
	}
	ack := func(message jetstream.Msg) error { return message.DoubleAck(ctx) }
	read("returned", jetstream.Msg.Nak)
	look()
	broker.Shutdown()
	broker.WaitForShutdown()
	_, js = start(os.Args[1])
	stream, consumer = must(js.Stream(ctx, "orders")), must(js.Consumer(ctx, "orders", "worker"))
	config := consumer.CachedInfo().Config
	config.MaxDeliver = 10
	consumer = must(stream.UpdateConsumer(ctx, config))
	must(js.Publish(ctx, "orders", []byte("4")))
	read("restarted, a higher limit, and a new order", ack)
	look()
	if err := stream.DeleteConsumer(ctx, "worker"); err != nil {
		panic(err)
	}
	consumer = must(stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "worker"}))
	read("another consumer", ack)
	look()
	os.Exit(0)
}
GO
mapfile -t found < <("$folder/go/probe" "$folder/nats")
seen "order/delivery" "returned: 1/1 2/1 3/1 1/2 2/2 3/2" "${found[0]:-}"
seen "what the server says then" "pending 0 unacknowledged 0 stored 3" "${found[1]:-}"
seen "later" "restarted, a higher limit, and a new order: 4/1" "${found[2]:-}"
seen "what the server says then" "pending 0 unacknowledged 0 stored 3" "${found[3]:-}"
seen "after its end" "another consumer: 1/1 2/1 3/1" "${found[4]:-}"
seen "what the server says then" "pending 0 unacknowledged 0 stored 0" "${found[5]:-}"
verdict
