#!/usr/bin/env bash
# NATS JetStream: orders are published with Nats-Msg-Id, and the stream knows an id for two minutes (Duplicates). A work queue, whose
# consumer has handled and acknowledged an order; a publisher that has no answer publishes it again. The server restarts in between.
# Guess: the repeat is answered as a duplicate within the two minutes, restart or not, as the stream is on the disk.
# Seen with nats-server 2.15.3, nats.go 1.55.0: after a restart, a clean one, too, the repeat is a new message, and is delivered. The
# ids are read again from the messages that are still stored, and a work queue deletes what is acknowledged: just the orders that
# were handled can come twice, those that wait can't. In a full stream (DiscardOld) it is the other way: a message that was pushed
# out is nowhere, and its repeat is confirmed as a duplicate and not stored, so the order that was lost can't be sent again.
. "$(dirname "$0")/common.sh"
nats_program <<'GO'
func main() {
	ctx := context.Background()
	running, js := start(os.Args[1])
	publish := func(stream, id string) bool {
		return must(js.Publish(ctx, stream, []byte(id), jetstream.WithMsgID(id))).Duplicate
	}
	orders := must(js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "orders", Subjects: []string{"orders"}, Retention: jetstream.WorkQueuePolicy, Duplicates: 2 * time.Minute,
	}))
	must(js.CreateStream(ctx, jetstream.StreamConfig{Name: "full", Subjects: []string{"full"}, MaxMsgs: 1}))
	consumer := must(orders.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "worker"}))
	publish("orders", "handled")
	if err := must(consumer.Next()).DoubleAck(ctx); err != nil {
		panic(err)
	}
	publish("orders", "waiting")
	fmt.Println("handled", publish("orders", "handled"), "waiting", publish("orders", "waiting"))
	publish("full", "old")
	publish("full", "new")
	again := publish("full", "old")
	info := must(must(js.Stream(ctx, "full")).Info(ctx))
	fmt.Println("pushed out", again, "messages", info.State.Msgs, "last", info.State.LastSeq)
	running.Shutdown()
	running.WaitForShutdown()
	_, js = start(os.Args[1])
	fmt.Println("handled", publish("orders", "handled"), "waiting", publish("orders", "waiting"))
	consumer = must(js.Consumer(ctx, "orders", "worker"))
	for range 2 {
		message := must(consumer.Next())
		fmt.Print(string(message.Data()), " ")
		message.Ack()
	}
	fmt.Println()
	os.Exit(0)
}
GO
mapfile -t found < <("$folder/go/probe" "$folder/nats")
seen "is the repeat a duplicate, before a restart" "handled true waiting true" "${found[0]:-}"
seen "is the repeat of what was pushed out a duplicate, and what is stored" "pushed out true messages 1 last 2" "${found[1]:-}"
seen "is the repeat a duplicate, after a restart" "handled false waiting true" "${found[2]:-}"
seen "delivered after the restart" "waiting handled" "$(xargs <<<"${found[3]:-}")"
verdict
