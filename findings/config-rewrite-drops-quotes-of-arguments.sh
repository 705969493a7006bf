#!/usr/bin/env bash
# A line of redis.conf loads a module with arguments in quotes, as `loadmodule it.so name "two words" empty ""`.
# Guess: CONFIG REWRITE, which a Sentinel sends to every server whose role it changes, writes the line so that it means the same.
# Seen on Redis 7.0.15, 8.10.2 and Valkey 9.1.2: it writes the arguments without quotes. The next start passes four instead of
# two, or those of another name, or refuses the line of which a quote has no end. The path of the module is written so, too.
. "$(dirname "$0")/common.sh"
# A module that only says what its arguments are.
cat >"$folder/it.c" <<'C'
#include <string.h>
typedef int (*get_t)(const char *, void *);
int RedisModule_OnLoad(void *ctx, void **argv, int argc) {
    get_t get = (get_t)((void **)ctx)[0];
    int (*set)(void *, const char *, int, int);
    const char *(*bytes)(void *, size_t *);
    void (*log)(void *, const char *, const char *, ...);
    if (get("RedisModule_SetModuleAttribs", &set) || get("RedisModule_StringPtrLen", &bytes) || get("RedisModule_Log", &log)) return 1;
    set(ctx, "it", 1, 1);
    for (int i = 0; i < argc; i++) log(ctx, "warning", "argument [%s]", bytes(argv[i], NULL));
    return 0;
}
C
gcc -shared -fPIC -w -o "$folder/it.so" "$folder/it.c"
cp "$folder/it.so" "$folder/it 2.so"
arguments() { grep -o 'argument \[.*\]' "$folder/log" | cut -d' ' -f2- | tr '\n' ' ' | sed 's/ *$//'; }
run() { # until it answers or has ended
    : >"$folder/log"
    "$program" "$folder/redis.conf" >"$folder/log" 2>&1 &
    pids+=($!)
    until [ "$(say PING 2>/dev/null)" = PONG ]; do kill -0 $! 2>/dev/null || return 0; sleep 0.1; done
}
stop() { kill -9 "${pids[-1]}" 2>/dev/null || true; wait "${pids[-1]}" 2>/dev/null || true; }
rewritten() { # arguments, file of the module: what the next start is told
    port=$((20000 + RANDOM % 12000))
    printf 'port %s\nbind 127.0.0.1\nsave ""\nloadmodule "%s/%s" %s\n' "$port" "$folder" "${2:-it.so}" "$1" >"$folder/redis.conf"
    run
    say CONFIG REWRITE >/dev/null
    stop
    run
    if [ "$(say PING 2>/dev/null)" = PONG ]; then arguments; else grep -oE "Unbalanced quotes|Can't load module" "$folder/log"; fi
    stop
}
for name in redis-7.0 redis-8.10 valkey-9.1; do
    program=redis-server
    [ "$name" = redis-7.0 ] || program=$("$root/scripts/servers" "$name")
    "$program" --version | cut -d' ' -f1-3
    seen 'name "two words"' "[name] [two] [words]" "$(rewritten 'name "two words"')"
    seen 'first "" second ""' "[first] [second]" "$(rewritten 'first "" second ""')"
    seen "name \"it's\"" "Unbalanced quotes" "$(rewritten "name \"it's\"")"
    seen "a path with a space" "Can't load module" "$(rewritten "" "it 2.so")"
done
verdict
