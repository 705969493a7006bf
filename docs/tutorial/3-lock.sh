#!/usr/bin/env bash
# Step 3: ann's work takes longer than her lease. Her DEL deletes the lock of ben.
. "$(dirname "$0")/lib.sh"

echo "SET NX, then DEL:"
echo "  ann acquires: $(redis SET lock 1 NX PX 100)"
until_is 0 EXISTS lock
echo "  the lease has expired, ben acquires: $(redis SET lock 1 NX PX 60000)"
echo "  ann is done, DEL: $(redis DEL lock)"
echo "  cat acquires, while ben works: $(redis SET lock 1 NX PX 60000)"
clean

echo "LOCK.ACQUIRE, then LOCK.RELEASE:"
ann=$(redis LOCK.ACQUIRE lock ann 100 FENCE)
echo "  ann acquires, with a fencing token"
until_is 0 EXISTS lock
ben=$(redis LOCK.ACQUIRE lock ben 60000 FENCE)
[ "$ben" -gt "$ann" ] && echo "  the lease has expired, ben acquires, with a greater one"
echo "  ann is done, LOCK.RELEASE: $(redis LOCK.RELEASE lock ann)"
echo "  cat tries, while ben works: $(redis LOCK.ACQUIRE lock cat 60000)"
redis LOCK.ACQUIRE lock cat 60000 BLOCK 60000 >>"$answers" &
until [ "$(redis LOCK.INFO lock | tail -n 1)" = 1 ]; do sleep 0.01; done
echo "  cat waits in the queue, ben is done, LOCK.RELEASE: $(redis LOCK.RELEASE lock ben)"
wait $!
echo "  cat gets: $(cat "$answers")"
