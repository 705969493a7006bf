#!/usr/bin/env bash
# go-redis: "MaxRetries: Maximum number of retries before giving up. -1 disables retries."
# Guess: a cluster client with MaxRetries -1 sends a command once, as the client for one server does.
# Seen with go-redis 9.23.0: a cluster client sends a command whose answer is late (here a BLMOVE of an empty
# list) four times, with -1 as without. Only MaxRedirects -1 stops it, and then no redirect is followed
# either. The client for one server obeys MaxRetries.
. "$(dirname "$0")/common.sh"
start redis-7.0 --cluster-enabled yes
say CLUSTER ADDSLOTSRANGE 0 16383 >/dev/null
say CONFIG SET cluster-announce-ip 127.0.0.1 >/dev/null
until say CLUSTER INFO | grep -q cluster_state:ok; do sleep 0.1; done
go_program github.com/redis/go-redis/v9@v9.23.0 <<'GO'
package main

import (
	"context"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	at, late, ctx := "127.0.0.1:"+os.Args[1], 300*time.Millisecond, context.Background()
	var client redis.UniversalClient
	switch os.Args[2] {
	case "one":
		client = redis.NewClient(&redis.Options{Addr: at, ReadTimeout: late, MaxRetries: -1})
	case "cluster":
		client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{at}, ReadTimeout: late, MaxRetries: -1})
	default:
		client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{at}, ReadTimeout: late, MaxRedirects: -1})
	}
	client.Do(ctx, "BLMOVE", "{q}jobs", "{q}taken", "LEFT", "RIGHT", "5")
}
GO
counts() {
    timeout 20 redis-cli -p "$port" MONITOR >"$folder/$1" 2>/dev/null &
    until grep -qs OK "$folder/$1"; do sleep 0.05; done
    "$folder/go/probe" "$port" "$1"
    sleep 0.2
    grep -c BLMOVE "$folder/$1"
}
seen "one server, MaxRetries -1" 1 "$(counts one)"
seen "cluster, MaxRetries -1" 4 "$(counts cluster)"
seen "cluster, MaxRedirects -1" 1 "$(counts neither)"
verdict
