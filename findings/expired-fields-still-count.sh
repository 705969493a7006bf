#!/usr/bin/env bash
# Reservations are fields of a hash with a TTL each, HPEXPIRE; HLEN counts what is reserved, and who deletes a field by HDEL, with
# the answer 1, has released it. 300,000 expire at once, and one is left.
# Guess: a field that has expired is gone for every command, as an expired key is.
# Seen on Redis 8.10.2 and Valkey 9.1.2: HGET and HGETALL do not show them, HLEN counts what the server has not deleted yet, for
# seconds, and EXISTS finds a hash that has no field left. HDEL of Redis deletes expired fields and counts them; Valkey's
# answers 0.
. "$(dirname "$0")/common.sh"
for name in redis-8.10 valkey-9.1; do
    start "$name"
    say EVAL "for i = 1, 300000 do redis.call('HSET', KEYS[1], 'u' .. i, 1) end" 1 held >/dev/null
    say HSET held left 1 >/dev/null
    due=$(($(date +%s%3N) + 5000))
    say EVAL "for i = 1, 300000 do redis.call('HPEXPIREAT', KEYS[1], ARGV[1], 'FIELDS', 1, 'u' .. i) end" 1 held $due >/dev/null
    say COPY held all >/dev/null
    say HDEL all left >/dev/null
    until [ "$(date +%s%3N)" -gt $due ]; do sleep 0.01; done
    {
        echo "HLEN held"
        echo "EXISTS all"
        echo "HDEL held $(seq -f 'u%g' -s ' ' 99000)"
        echo "HGETALL held"
        echo "HGET all u1"
    } | redis-cli -p "$port" >"$folder/told"
    mapfile -t told <"$folder/told"
    seen "HLEN is more than one" yes "$([ "${told[0]}" -gt 1 ] && echo yes || echo "no, ${told[0]}")"
    seen "EXISTS of another hash, which has only expired fields" 1 "${told[1]}"
    expected=no
    [ "$name" != redis-8.10 ] || expected=yes
    seen "HDEL says that it deleted expired fields" $expected "$([ "${told[2]}" -gt 0 ] && echo yes || echo no)"
    seen "HGETALL" "left 1" "${told[3]} ${told[4]}"
    seen "HGET of an expired field" "" "${told[5]}"
    until [ "$(say EXISTS all)" = 0 ] && [ "$(say HLEN held)" = 1 ]; do sleep 0.2; done
    echo "HLEN was right $((($(date +%s%3N) - due) / 1000)) seconds later"
done
verdict
