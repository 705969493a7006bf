#!/usr/bin/env bash
# etcd: a process that holds the lock of a voucher dies, and its lease of 20 seconds is renewed no more. etcd, one node here,
# restarts every eight seconds, as one does that is killed for want of memory again and again.
# Guess: the lease ends 20 seconds after it was renewed, plus the restarts: that is what a lease promises, and it is on the disk.
# Seen with etcd 3.7.3, all settings as they come: each restart gives the lease its full time again, so the lock of the dead is
# held after 24 seconds, with another 20 to go, and for ever if the restarts go on. What is stored is the length of the lease, not
# its end. So reckon with a full lease after the last restart, and keep leases short; revoke that of a process known to be dead.
. "$(dirname "$0")/common.sh"
etcd_program <<'GO'
package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	ctx := context.Background()
	etcd, client := start(os.Args[1])
	lock := func(name string, seconds int64) clientv3.LeaseID {
		lease := must(client.Grant(ctx, seconds)).ID
		must(client.Put(ctx, name, "dead", clientv3.WithLease(lease)))
		return lease
	}
	held := func(name string) bool { return must(client.Get(ctx, name)).Count == 1 }
	lease := lock("/voucher/7", 20)
	for range 3 {
		time.Sleep(8 * time.Second)
		client.Close()
		etcd.Close()
		etcd, client = start(os.Args[1])
	}
	left := must(client.TimeToLive(ctx, lease)).TTL
	fmt.Println("held", held("/voucher/7"), "nearly all of it left", left > 14)
	lock("/voucher/8", 2)
	for deadline := time.Now().Add(time.Minute); held("/voucher/8") && time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Println("held", held("/voucher/8"))
	os.Exit(0)
}
GO
mapfile -t found < <("$folder/go/probe" "$folder/etcd" 2>/dev/null)
seen "three restarts and more than 24 seconds after the grant of 20" "held true nearly all of it left true" "${found[0]:-}"
seen "a lease of 2 seconds, without a restart, in the end" "held false" "${found[1]:-}"
verdict
