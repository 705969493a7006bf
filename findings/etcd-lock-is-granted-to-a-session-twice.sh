#!/usr/bin/env bash
# etcd: two requests of one process lock the same voucher. Each makes a concurrency.Mutex of its own for it, of the one Session that
# the process keeps, whose lease is renewed in the background: a Session for each request would cost a lease each.
# Guess: the second waits for the first, as it does if another process has the lock; Unlock of who has lost it is an error.
# Seen with etcd 3.7.3, server and Go client: both have the lock at once, by TryLock as well, and both may sell the last unit. The
# key of a waiter is named after the lease, so the second finds its own and takes it for granted. The first Unlock deletes that
# key: another process gets the lock, while the second one works. Its Unlock says nothing, and neither does that of a
# session whose lease has ended. A Mutex excludes Sessions, not callers: lock a mutex of the process first.
. "$(dirname "$0")/common.sh"
etcd_program <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	ctx := context.Background()
	_, client := start(os.Args[1])
	ours, theirs := must(concurrency.NewSession(client)), must(concurrency.NewSession(client))
	lock := func(session *concurrency.Session) (*concurrency.Mutex, bool) {
		mutex := concurrency.NewMutex(session, "/voucher/7")
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		err := mutex.Lock(short)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			panic(err)
		}
		return mutex, err == nil
	}
	first, one := lock(ours)
	second, two := lock(ours)
	tried := concurrency.NewMutex(ours, "/voucher/7").TryLock(ctx) == nil
	_, other := lock(theirs)
	fmt.Println("one session:", one, two, tried, "another:", other)
	first.Unlock(ctx)
	third, other := lock(theirs)
	fmt.Println("after the first unlock:", other, second.Unlock(ctx))
	third.Unlock(ctx)
	lost, _ := lock(ours)
	must(ours.Client().Revoke(ctx, ours.Lease()))
	_, other = lock(theirs)
	fmt.Println("after the lease:", other, lost.Unlock(ctx))
	os.Exit(0)
}
GO
mapfile -t found < <("$folder/go/probe" "$folder/etcd" 2>/dev/null)
seen "who has the lock" "one session: true true true another: false" "${found[0]:-}"
seen "another session has it, and what the second's Unlock says" "after the first unlock: true <nil>" "${found[1]:-}"
seen "another session has it after the end of a lease, and what Unlock says" "after the lease: true <nil>" "${found[2]:-}"
verdict
