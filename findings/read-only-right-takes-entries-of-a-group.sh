#!/usr/bin/env bash
# A monitor may look at a stream: a user with a read-only right on its key, %R~orders, and with +xreadgroup.
# Guess: a user who may only read can't take an order from the consumers of a group.
# Seen on Redis 7.0.15, 8.10.2 and Valkey 9.1.2: XREADGROUP counts as a read of the key (RO in COMMAND GETKEYSANDFLAGS),
# though it delivers the entry to this user, and with NOACK for good. The same user may not acknowledge, claim or return
# one, so an entry that was taken stays pending.
. "$(dirname "$0")/common.sh"
as_monitor() { say --user monitor --pass secret --no-auth-warning "$@"; }
refused() { case $(as_monitor "$@") in NOPERM*) echo refused ;; *) echo done ;; esac; }
for name in redis-7.0 redis-8.10 valkey-9.1; do
    start "$name"
    say XGROUP CREATE orders group 0 MKSTREAM >/dev/null
    for id in 1 2 3; do say XADD orders "$id-0" id "$id" >/dev/null; done
    say ACL SETUSER monitor on '>secret' %R~orders +xreadgroup +xack +xclaim +xautoclaim +xdel >/dev/null
    seen "flags" "orders RO access" "$(say COMMAND GETKEYSANDFLAGS XREADGROUP GROUP group m STREAMS orders '>')"
    seen "taken" "orders 1-0 id 1" "$(as_monitor XREADGROUP GROUP group m COUNT 1 STREAMS orders '>')"
    seen "taken for good" "orders 2-0 id 2" "$(as_monitor XREADGROUP GROUP group m COUNT 1 NOACK STREAMS orders '>')"
    seen "left for the consumers" "orders 3-0 id 3" "$(say XREADGROUP GROUP group worker STREAMS orders '>')"
    seen "XDEL" refused "$(refused XDEL orders 3-0)"
    seen "XACK" refused "$(refused XACK orders group 1-0)"
    seen "XCLAIM" refused "$(refused XCLAIM orders group worker 0 1-0)"
    seen "XAUTOCLAIM" refused "$(refused XAUTOCLAIM orders group worker 0 0)"
done
verdict
