#!/usr/bin/env bash
# amqp091-go: twelve mandatory messages with confirms for a queue that does not exist; the channel of NotifyReturn has room for ten, and is
# looked at when the messages are confirmed, or ten seconds are over.
# Guess: RabbitMQ returns a message before it confirms it, so the client waits for room: what is confirmed and not returned, a queue has.
# Seen with amqp091-go 1.16.0: after five seconds it drops the returned message, and goes on to its confirm. Of the twelve one was
# never returned and is confirmed: for the program a queue has it. With room for all, twelve are returned.
. "$(dirname "$0")/common.sh"
start_broker rabbitmq
go_program github.com/rabbitmq/amqp091-go@v1.16.0 <<'GO'
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

func main() {
	connection, err := amqp.Dial("amqp://guest:guest@127.0.0.1:" + os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	channel, _ := connection.Channel()
	room, _ := strconv.Atoi(os.Args[2])
	returns := channel.NotifyReturn(make(chan amqp.Return, room))
	channel.Confirm(false)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	confirms := [12]*amqp.DeferredConfirmation{}
	for at := range confirms {
		confirms[at], _ = channel.PublishWithDeferredConfirmWithContext(ctx, "", "missing", true,
			false, amqp.Publishing{MessageId: fmt.Sprint(at)})
	}
	taken := map[string]bool{}
	for at, confirm := range confirms {
		taken[fmt.Sprint(at)], _ = confirm.WaitContext(ctx)
	}
	for len(returns) > 0 {
		delete(taken, (<-returns).MessageId)
	}
	there := 0
	for _, confirmed := range taken {
		if confirmed {
			there++
		}
	}
	fmt.Println(there)
}
GO
# It listens before it answers.
look() { until "$folder/go/probe" "$port" "$1"; do sleep 1; done; }
seen "confirmed and not returned, with room for ten" 1 "$(look 10)"
seen "with room for all" 0 "$(look 12)"
verdict
