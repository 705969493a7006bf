# What the findings share: a folder that goes at the end, servers without the module, and comparisons that fail.
# Sourced by each finding, as `. "$(dirname "$0")/common.sh"`.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d)
chmod 755 "$folder" # servers of databases run as another user
pids=()
changed=0
end() {
    for pid in ${pids[@]+"${pids[@]}"}; do kill "$pid" 2>/dev/null || true; done
    wait
    chmod -R u+w "$folder"
    rm -rf "$folder"
}
trap end EXIT

# Starts a server that scripts/servers names, or `redis-7.0` for the system's, on a free port, which `port` holds then.
start() { # name, words of the server
    local program=redis-server tries
    [ "$1" = redis-7.0 ] || program=$("$root/scripts/servers" "$1")
    for tries in 1 2 3; do
        port=$((20000 + RANDOM % 12000))
        mkdir -p "$folder/$port"
        "$program" --port "$port" --bind 127.0.0.1 --dir "$folder/$port" --save "" "${@:2}" >"$folder/$port/log" 2>&1 &
        pids+=($!)
        for _ in $(seq 100); do
            [ "$(redis-cli -p "$port" PING 2>/dev/null)" != PONG ] || { echo "$("$program" --version | cut -d' ' -f1-3) at $port"; return; }
            kill -0 $! 2>/dev/null || break
            sleep 0.1
        done
    done
    cat "$folder/$port/log"
    return 1
}

# Starts two nodes of a cluster with half of the slots each: `port` and `target`. {b}* is in a slot of the first.
start_pair() { # name, words of the servers
    start "$1" --cluster-enabled yes "${@:2}"
    local first=$port
    start "$1" --cluster-enabled yes "${@:2}"
    target=$port port=$first
    say CLUSTER ADDSLOTSRANGE 0 8191 >/dev/null
    redis-cli -p "$target" CLUSTER ADDSLOTSRANGE 8192 16383 >/dev/null
    say CLUSTER SET-CONFIG-EPOCH 1 >/dev/null
    redis-cli -p "$target" CLUSTER SET-CONFIG-EPOCH 2 >/dev/null
    redis-cli -p "$target" CLUSTER MEET 127.0.0.1 "$port" >/dev/null
    until say CLUSTER INFO | grep -q cluster_state:ok &&
        redis-cli -p "$target" CLUSTER INFO | grep -q cluster_state:ok; do sleep 0.1; done
    until say CLUSTER NODES | grep -q 'connected 8192-16383'; do sleep 0.1; done
}

# Starts the system's MariaDB on a unix socket, for `query` by this name, again if it was one before. The tmpdir is its own, or
# as said; so is the port.
start_mariadb() { # name, tmpdir, port
    local as=() own=$folder/$1 network=(--skip-networking)
    [ -z "${3:-}" ] || network=(--bind-address=127.0.0.1 --port="$3")
    [ "$(id -u)" != 0 ] || as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
    if [ ! -d "$own" ]; then
        mkdir -m 777 "$own"
        ${as[@]+"${as[@]}"} mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db \
            --datadir="$own/data" --tmpdir="$own" >"$own/log" 2>&1
    fi
    ${as[@]+"${as[@]}"} mariadbd --no-defaults "${network[@]}" --datadir="$own/data" --socket="$own/socket" \
        --tmpdir="${2:-$own}" >>"$own/log" 2>&1 &
    pids+=($!)
    until query "$1" <<<"SELECT 1" >/dev/null 2>&1; do kill -0 $! && sleep 0.2; done
}

# Starts MySQL of scripts/servers likewise.
start_mysql() { # name, port
    local own=$folder/$1 program network=(--skip-networking)
    [ -z "${2:-}" ] || network=(--bind-address=127.0.0.1 --port="$2")
    program=$("$root/scripts/servers" mysql-9)
    local words=(--no-defaults --user=root --mysqlx=OFF --disable-log-bin --secure-file-priv=NULL --tmpdir="$own"
        --lc-messages-dir="${program%/*}/share" --plugin-dir="${program%/*}/plugin"
        --character-sets-dir="${program%/*}/share/charsets" --datadir="$own/data")
    if [ ! -d "$own" ]; then
        mkdir "$own"
        "$program" "${words[@]}" --initialize-insecure >"$own/log" 2>&1
    fi
    "$program" "${words[@]}" "${network[@]}" --socket="$own/socket" --pid-file="$own/pid" >>"$own/log" 2>&1 &
    pids+=($!)
    until query "$1" <<<"SELECT 1" >/dev/null 2>&1; do kill -0 $! && sleep 0.2; done
}

# Starts the system's PostgreSQL likewise.
start_postgres() { # "postgres", port
    local own=$folder/postgres as=() programs network=(-c listen_addresses=)
    [ -z "${2:-}" ] || network=(-c listen_addresses=127.0.0.1 -p "$2")
    database_port=${2:-5432}
    programs=$(pg_config --bindir)
    [ "$(id -u)" != 0 ] || as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
    if [ ! -d "$own" ]; then
        mkdir -m 777 "$own"
        ${as[@]+"${as[@]}"} "$programs/initdb" -D "$own/data" -U root -A trust >"$own/log" 2>&1
    fi
    ${as[@]+"${as[@]}"} "$programs/postgres" -D "$own/data" -k "$own" "${network[@]}" >>"$own/log" 2>&1 &
    pids+=($!)
    until query postgres <<<"SELECT 1" >/dev/null 2>&1; do kill -0 $! && sleep 0.2; done
}

# Starts the system's PgBouncer in transaction mode, in front of PostgreSQL at `database_port`: at this port of TCP, or, without
# one, on a unix socket beside PostgreSQL's.
start_pgbouncer() { # port
    local as=() own=(-h "$folder/postgres" -p 6432) pooler
    local listens="listen_addr =
unix_socket_dir = $folder/postgres"
    [ -z "${1:-}" ] || own=(-h 127.0.0.1 -p "$1") listens="listen_addr = 127.0.0.1
unix_socket_dir ="
    cat >"$folder/pgbouncer.ini" <<INI
[databases]
postgres = host=127.0.0.1 port=$database_port user=root
[pgbouncer]
$listens
listen_port = ${1:-6432}
auth_type = any
pool_mode = transaction
ignore_startup_parameters = extra_float_digits
INI
    [ "$(id -u)" != 0 ] || as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
    pgbouncer --version | head -1
    ${as[@]+"${as[@]}"} pgbouncer -q "$folder/pgbouncer.ini" >"$folder/log" 2>&1 &
    pooler=$!
    pids+=($pooler)
    pooled=(psql -X -q -A -t "${own[@]}" -U root postgres)
    until "${pooled[@]}" <<<"SELECT 1" >/dev/null 2>&1; do kill -0 $pooler && sleep 0.2; done
}

# Runs what it reads at such a server.
query() {
    case $1 in
    postgres) psql -X -q -A -t -F $'\t' -h "$folder/$1" -p "$database_port" -U root postgres "${@:2}" ;;
    *) mariadb --no-defaults -u root -S "$folder/$1/socket" -N "${@:2}" ;;
    esac
}

# What a transaction is told that begins while another is not committed, and may have to wait for its commit.
beside() { # name, level, statements of the first, statements of the second
    local begin="BEGIN" trx="SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'" words=(--unbuffered)
    case $1 in
    postgres) trx="SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'" words=() begin="BEGIN ISOLATION LEVEL $2" ;;
    *) begin="SET TRANSACTION ISOLATION LEVEL $2; BEGIN" ;;
    esac
    : >"$folder/first"
    exec 3> >(query "$1" ${words[@]+"${words[@]}"} >"$folder/first" 2>&1)
    local first=$!
    echo "$begin; $3; SELECT 'done';" >&3
    until grep -q done "$folder/first"; do sleep 0.05; done
    query "$1" <<<"$begin; $4; COMMIT;" >"$folder/second" 2>&1 3>&- &
    local second=$!
    while kill -0 $second 2>/dev/null && [ "$(query "$1" <<<"$trx")" = 0 ]; do sleep 0.2; done
    echo "COMMIT;" >&3
    exec 3>&-
    wait "$first"
    wait $second || true
    tr '\n\t' ', ' <"$folder/second" | sed 's/,$//'
}

# Starts a broker of scripts/broker at `port`, again if `broker` was one before: its data is kept.
start_broker() { # rabbitmq, kafka or rocketmq
    local own=$folder/broker
    if [ -z "${broker:-}" ]; then
        port=$((20000 + RANDOM % 12000))
        if [ "$1" = rocketmq ]; then
            "$root/scripts/broker" rocketmq-names "$folder/names" $((port + 3)) >"$folder/names.log" 2>&1 </dev/null &
            pids+=($!)
            until (echo >/dev/tcp/127.0.0.1/$((port + 3))) 2>/dev/null; do kill -0 $! && sleep 0.2; done
        fi
    fi
    "$root/scripts/broker" "$1" "$own" "$port" >>"$folder/broker.log" 2>&1 </dev/null &
    broker=$!
    pids+=($broker)
    until (echo >/dev/tcp/127.0.0.1/$port) 2>/dev/null; do kill -0 $broker && sleep 0.2; done
}
kill_broker() { kill -9 "$broker" && wait "$broker" 2>/dev/null || true; }

# Compiles the class Probe that it reads, with a library, for `probe`.
java_program() { # group:artifact:version ...
    local group artifact version
    mkdir "$folder/java"
    cat >"$folder/java/Probe.java"
    {
        echo "<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>"
        echo "<dependencies>"
        while IFS=: read -r group artifact version; do
            echo "<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version></dependency>"
        done < <(printf '%s\n' "$@")
        echo "</dependencies></project>"
    } >"$folder/java/pom.xml"
    (cd "$folder/java" && mvn -q -B -Dstyle.color=never dependency:build-classpath -Dmdep.outputFile=cp)
    javac -cp "$(cat "$folder/java/cp")" -d "$folder/java" "$folder/java/Probe.java"
}
probe() { java -Xmx256m -Duser.home="$folder" -cp "$folder/java:$(cat "$folder/java/cp")" Probe "$@" 2>/dev/null; }

# Compiles the program that it reads, with modules of the module proxy, as "$folder/go/probe".
go_program() { # module@version ...
    mkdir "$folder/go"
    cat >"$folder/go/main.go"
    {
        printf 'module x\n\ngo 1.24\n\n'
        printf 'require %s\n' "${@/@/ }"
    } >"$folder/go/go.mod"
    (cd "$folder/go" && GOFLAGS=-mod=mod go mod tidy >/dev/null 2>&1 && GOFLAGS=-mod=mod go build -o probe .)
}

# Likewise with etcd, for programs that begin with `etcd, client := start(folder)`.
etcd_program() {
    go_program go.etcd.io/etcd/server/v3@v3.7.3 go.etcd.io/etcd/client/v3@v3.7.3 <<GO
$(cat)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func start(folder string) (*embed.Etcd, *clientv3.Client) {
	config := embed.NewConfig()
	config.Dir, config.LogLevel = folder, "error"
	free := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.AdvertiseClientUrls = free, free
	config.ListenPeerUrls, config.AdvertisePeerUrls = free, free
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd := must(embed.StartEtcd(config))
	<-etcd.Server.ReadyNotify()
	return etcd, must(clientv3.New(clientv3.Config{Endpoints: []string{etcd.Clients[0].Addr().String()}}))
}
GO
}

# Likewise with NATS, for programs of a main alone: `broker, js := start(folder)`, again if it was shut down.
nats_program() {
    go_program github.com/nats-io/nats-server/v2@v2.15.3 github.com/nats-io/nats.go@v1.55.0 <<GO
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

$(cat)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func start(folder string) (*server.Server, jetstream.JetStream) {
	broker := must(server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: folder, NoLog: true, NoSigs: true,
	}))
	broker.Start()
	if !broker.ReadyForConnections(20 * time.Second) {
		panic("not ready")
	}
	return broker, must(jetstream.New(must(nats.Connect(broker.ClientURL()))))
}
GO
}

# A command at `port`, its reply in one line.
say() { redis-cli -p "$port" "$@" | tr '\n' ' ' | sed 's/ *$//'; }

# Prints what was seen, and notes when it is not what was seen before.
seen() { # what, expected, found
    if [ "$2" = "$3" ]; then
        printf '%s: %s\n' "$1" "$3"
    else
        printf '%s: %s, and it was: %s\n' "$1" "$3" "$2"
        changed=1
    fi
}

# The last line of a finding.
verdict() {
    [ $changed = 0 ] || { echo "CHANGED"; exit 1; }
    echo "as before"
}
