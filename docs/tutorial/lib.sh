# What the steps share. To be sourced.
set -euo pipefail

# The server to use: a word or several, say REDIS_CLI="redis-cli -p 6380".
redis() { ${REDIS_CLI:-redis-cli} "$@"; }

clean() { redis FLUSHDB >/dev/null; }

# In the middle of a naive request: here somebody else's request comes in between. On a quiet day
# that is rare. This makes it certain.
meanwhile() {
    redis INCR arrived >/dev/null
    redis BLPOP go 60 >/dev/null
}

# Runs a function for 1 to N, all at the same time, and waits for them. A caller of `meanwhile` goes on
# when all of them have got there.
at_once() { # N function
    local n=$1 function=$2 i
    local -a waiting=()
    redis DEL arrived go >/dev/null
    for i in $(seq "$n"); do "$function" "$i" & waiting+=($!); done
    if [[ $(declare -f "$function") == *meanwhile* ]]; then
        until [ "$(redis GET arrived)" = "$n" ]; do sleep 0.01; done
        # shellcheck disable=SC2046
        redis RPUSH go $(seq "$n") >/dev/null
    fi
    wait "${waiting[@]}"
}

# Asks until the answer is as wanted, for a minute at most.
until_is() { # wanted command ...
    local wanted=$1 _
    shift
    for _ in $(seq 600); do
        if [ "$(redis "$@")" = "$wanted" ]; then return; fi
        sleep 0.1
    done
    echo "time-out while waiting for: $*" >&2
    exit 1
}

count() { grep -cx -- "$1" "$2" || true; }

if [ "$(redis DBSIZE)" != 0 ]; then
    echo "tutorial: this needs an empty database, and leaves it empty" >&2
    exit 1
fi
answers=$(mktemp) rows=$(mktemp)
trap 'clean; rm -f "$answers" "$rows"' EXIT
