#!/usr/bin/env bash
# Step 5: three buy, one pays. The other two units stay unsold forever.
. "$(dirname "$0")/lib.sh"

redis SET seckill:stock:phone 3 >/dev/null
for user in ann ben cat; do redis SECKILL.TRY phone $user "order-$user" >/dev/null; done
echo "A stock: ann has paid, ben and cat have not, stock $(redis GET seckill:stock:phone)," \
    "dave gets: $(redis SECKILL.TRY phone dave order-dave)"
clean

redis SECKILL.CREATE phone 3 HOLD 3000 >/dev/null
for user in ann ben cat; do redis SECKILL.TRY phone $user "order-$user" >/dev/null; done
echo "HOLD: dave gets: $(redis SECKILL.TRY phone dave order-dave)"
echo "  ann pays, SECKILL.CONFIRM: $(redis SECKILL.CONFIRM phone ann order-ann)," \
    "and once more after a time-out: $(redis SECKILL.CONFIRM phone ann order-ann)"
until_is 2 GET seckill:stock:phone
echo "  when the holds have expired the stock is $(redis GET seckill:stock:phone), dave gets:" \
    "$(redis SECKILL.TRY phone dave order-dave), and again: $(redis SECKILL.TRY phone dave order-dave)"
echo "  ben pays too late, SECKILL.CONFIRM: $(redis SECKILL.CONFIRM phone ben order-ben)"
differences=$(redis SECKILL.AUDIT phone | tail -n 1)
echo "  SECKILL.AUDIT finds differences: ${differences:-none}"
