#!/usr/bin/env bash
# Step 6: sold out, and then somebody cancels. Who gets the unit?
. "$(dirname "$0")/lib.sh"

redis SET seckill:stock:phone 0 >/dev/null
redis RPUSH asked dave eve >/dev/null # who wants a message when there is one
redis SECKILL.RETURN seckill:stock:phone 1 >/dev/null # ann cancels
first=$(redis LPOP asked)
echo "A list of who asked: ann cancels, $first gets a message, fred is faster and gets:" \
    "$(redis SECKILL.TRY phone fred order-fred), dave gets: $(redis SECKILL.TRY phone dave order-dave)"
clean

# The place of an order in the queue.
place() { redis SECKILL.ORDER phone "order-$1" | sed -n '/^position$/{n;p}'; }

redis SECKILL.CREATE phone 1 HOLD 900000 >/dev/null
redis SECKILL.TRY phone ann order-ann >/dev/null
echo "WAITLIST: dave gets: $(redis SECKILL.TRY phone dave order-dave WAITLIST)," \
    "eve gets: $(redis SECKILL.TRY phone eve order-eve WAITLIST)"
echo "  dave is number $(place dave) in the queue, eve number $(place eve)"
echo "  ann cancels, SECKILL.CANCEL: $(redis SECKILL.CANCEL phone ann order-ann)," \
    "fred gets: $(redis SECKILL.TRY phone fred order-fred)"
echo "  dave asks again: $(redis SECKILL.TRY phone dave order-dave WAITLIST)," \
    "and eve, who is now number $(place eve): $(redis SECKILL.TRY phone eve order-eve WAITLIST)"
waited=$(redis XREVRANGE stream.orders + - COUNT 1 | grep -cx -e order-dave -e waited)
echo "  the last entry of the stream is dave's, with the field waited: $([ "$waited" = 2 ] && echo yes)"
echo "  dave pays, SECKILL.CONFIRM: $(redis SECKILL.CONFIRM phone dave order-dave)"
