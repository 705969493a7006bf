//! The visible effects of a command: keys, events, invalidations, WATCH, the AOF.

use std::collections::BTreeMap;

use redis::Value;

use crate::aof::shown;
use crate::harness::{Builder, Client, Server, text};
use crate::transcript::argv;

/// Every key with its whole value, as DUMP returns it if that is the same each time, and its expiry
/// (unix ms, -1 for never).
pub type Snapshot = BTreeMap<String, (String, i64)>;

impl Client {
    /// Does a key expire within so many ms, or has one that is not deleted yet? A paused server
    /// counts what a copy or a reload omits. With fields of hashes, if the server gives them times
    /// to live. Asked by single commands: scripts have no keys of several slots of a cluster. Only
    /// what a paused server answers is certain, since nothing is deleted between two commands.
    fn has_short_lives(&mut self, within_ms: i64, with_fields: bool) -> bool {
        let numbers = |reply: Value| match reply {
            Value::Int(one) => vec![one],
            reply => redis::from_redis_value(reply).expect("times to live"),
        };
        // What was listed and is gone, -2, has expired meanwhile.
        let is_short =
            |reply: Value| numbers(reply).iter().any(|left| *left != -1 && *left < within_ms);
        let keys: Vec<Vec<u8>> = redis::from_redis_value(self.call(&["KEYS", "*"])).expect("keys");
        // What has expired is counted until it is deleted.
        self.call(&["DBSIZE"]) != Value::Int(keys.len() as i64)
            || keys.iter().any(|key| {
                let mut ask = |words: &[&[u8]]| self.call(words);
                let kind = ask(&[b"TYPE", key]);
                if is_short(ask(&[b"PTTL", key])) {
                    return true;
                }
                if text(&kind) != "hash" || !with_fields {
                    return false;
                }
                let fields = ask(&[b"HKEYS", key]);
                let fields: Vec<Vec<u8>> = redis::from_redis_value(fields).expect("fields");
                ask(&[b"HLEN", key]) != Value::Int(fields.len() as i64)
                    || fields
                        .iter()
                        .any(|field| is_short(ask(&[b"HPTTL", key, b"FIELDS", b"1", field])))
            })
    }
}

impl Server {
    /// Pauses writes while no key, and no field, has expired or is about to: a reload would omit
    /// it. A server that is not paused deletes between two questions, so what has expired can be
    /// counted in the place of what was deleted; but only such a server deletes.
    pub fn pause_without_short_lives(&self, databases: &[&str], within_ms: i64, with_fields: bool) {
        let has_short_lives = || {
            let mut client = self.client();
            databases.iter().any(|db| {
                let is_here = client.call(&["SELECT", db]) == Value::Okay;
                is_here && client.has_short_lives(within_ms, with_fields)
            })
        };
        self.until("short lives to end", || {
            if has_short_lives() {
                return false;
            }
            assert_eq!(self.run("CLIENT PAUSE 60000 WRITE"), Value::Okay);
            let is_still = !has_short_lives();
            if !is_still {
                assert_eq!(self.run("CLIENT UNPAUSE"), Value::Okay);
            }
            is_still
        });
    }

    /// A builder of servers that `silent` can examine: with an append-only file and all events.
    pub fn observed() -> Builder {
        Self::with().aof().config("notify-keyspace-events KEAn")
    }

    /// Every key of database 0 with its value and expiry.
    pub fn snapshot(&self) -> Snapshot {
        let mut client = self.own();
        let keys = bytes_list(client.run("KEYS *"));
        let mut state = |key: Vec<u8>| {
            let kind = text(&client.call(&[b"TYPE", key.as_slice()]));
            let value = match kind.as_str() {
                // The order of elements changes while the server rehashes.
                "set" | "hash" | "zset" => {
                    client.call(&[b"DEBUG".as_slice(), b"DIGEST-VALUE", &key])
                }
                _ => client.call(&[b"DUMP", key.as_slice()]),
            };
            let expiry = integer(&client.call(&[b"PEXPIRETIME", key.as_slice()]));
            let value = match value {
                Value::BulkString(dump) => dump.escape_ascii().to_string(),
                other => format!("{other:?}"),
            };
            (key.escape_ascii().to_string(), (format!("{kind} {value}"), expiry))
        };
        keys.into_iter().map(&mut state).collect()
    }

    /// Saves everything and loads it again, which must change neither keys nor their times to live.
    /// For the end of a history, when no lease is about to end; see `pause_without_short_lives`.
    pub fn assert_reload_changes_nothing(&self) {
        // Due holds wait, as all writes do.
        assert_eq!(self.run("CLIENT PAUSE 60000 WRITE"), Value::Okay);
        let before = (self.digest(), self.snapshot());
        assert_eq!(self.run("DEBUG RELOAD"), Value::Okay);
        assert!((self.digest(), self.snapshot()) == before, "DEBUG RELOAD has changed something");
        assert_eq!(self.run("CLIENT UNPAUSE"), Value::Okay);
    }

    /// Starts to record every keyspace event and client-side caching invalidation.
    /// Needs a server made by `observed`.
    pub fn record(&self) -> Recorder {
        let mut listener = self.client();
        let id = integer(&listener.run("CLIENT ID"));
        listener.run("PSUBSCRIBE __key*__:*");
        for channel in ["__redis__:invalidate", "end-of-record"] {
            let reply = listener.run(&format!("SUBSCRIBE {channel}"));
            assert!(!matches!(reply, Value::ServerError(_)), "{reply:?}");
        }
        let mut tracker = self.client();
        let tracking = tracker.run(&format!("CLIENT TRACKING ON BCAST REDIRECT {id}"));
        assert_eq!(tracking, Value::Okay);
        Recorder { listener, _tracker: tracker }
    }

    /// Runs a command that must leave no trace: no key changed, no expiry changed, no AOF line, no
    /// event, no invalidation, nothing to save, nothing replicated, WATCH undisturbed. Returns its
    /// reply. Needs a server made by `observed`.
    pub fn silent(&self, command: &str) -> Value {
        self.silent_argv(&argv(command))
    }

    pub fn silent_argv(&self, command: &[Vec<u8>]) -> Value {
        let offset = self.info("master_repl_offset");
        let dirty = self.info("rdb_changes_since_last_save");
        let (reply, added) = self.quiet_argv(command);
        let name: String = shown(&command.to_vec()).chars().take(200).collect();
        assert_eq!(added, Vec::<String>::new(), "AOF of {name}");
        assert_eq!(self.info("rdb_changes_since_last_save"), dirty, "dirty after {name}");
        assert_eq!(self.info("master_repl_offset"), offset, "replicated by {name}");
        reply
    }

    /// Runs a command that changes nothing but replicates one command, so that a WAIT after it has
    /// something to wait for. Returns the reply and that command. Needs a server made by
    /// `observed`.
    pub fn replicated_again(&self, command: &str) -> (Value, String) {
        let (reply, mut added) = self.quiet_argv(&argv(command));
        added.retain(|line| line != "SELECT 0");
        assert_eq!(added.len(), 1, "AOF of {command}: {added:?}");
        (reply, added.swap_remove(0))
    }

    /// Like `silent`, for a command that may repeat its answer: then it replicates the entry of the
    /// book unchanged.
    pub fn unchanged(&self, command: &str) -> Value {
        let (reply, added) = self.quiet_argv(&argv(command));
        let around = ["SELECT 0", "MULTI", "EXEC"];
        let is_again = |line: &String| {
            around.contains(&line.as_str()) || line.starts_with("HSETNX seckill:book:")
        };
        assert!(added.iter().all(is_again), "AOF of {command}: {added:?}");
        reply
    }

    /// Runs a command that leaves a trace only in the append-only file; returns its reply, and what
    /// it added there.
    fn quiet_argv(&self, command: &[Vec<u8>]) -> (Value, Vec<String>) {
        let before = self.snapshot();
        let aof = self.aof_with_selects();
        let mut watcher = self.client();
        let keys = bytes_list(self.run("KEYS *"));
        let watched = keys.iter().map(Vec::as_slice).chain(USUAL_KEYS.map(str::as_bytes));
        watcher.call(&[b"WATCH".as_slice()].into_iter().chain(watched).collect::<Vec<_>>());
        let recorder = self.record();

        let reply = self.call(command);

        let name = shown(&command.to_vec());
        let name: String = name.chars().take(200).collect();
        assert_eq!(recorder.finish(self), Vec::<String>::new(), "events of {name}");
        assert_eq!(self.snapshot(), before, "keys changed by {name}");
        let added: Vec<_> = self.aof_with_selects().split_off(aof.len());
        watcher.run("MULTI");
        watcher.run("PING");
        let undisturbed = watcher.run("EXEC");
        assert_ne!(undisturbed, Value::Nil, "WATCH disturbed by {name}");
        (reply, added.iter().map(shown).collect())
    }

    /// A command that is refused with this error word and leaves no trace; returns the error.
    pub fn refused(&self, command: &str, code: &str) -> String {
        self.refused_argv(&argv(command), code)
    }

    /// Like `refused`, for errors whose text is the server's.
    pub fn refused_by_server(&self, command: &str, code: &str) {
        let reply = self.silent(command);
        assert!(text(&reply).starts_with(&format!("{code} ")), "{command} gave {reply:?}");
    }

    pub fn refused_argv(&self, command: &[Vec<u8>], code: &str) -> String {
        let reply = self.silent_argv(command);
        let shown: String = shown(&command.to_vec()).chars().take(200).collect();
        assert_error(&reply, code, &shown)
    }
}

/// The keys that a try or a rejection of voucher 7, or a draw from pool 7, would use, whether they
/// exist or not.
const USUAL_KEYS: [&str; 11] = [
    "seckill:stock:7", "seckill:order:7", "stream.orders", "stream.orders.dlq",
    "stream.orders.released", "stock", "buyers", "orders", "seckill:codes:7", "seckill:winners:7",
    "stream.draws",
];

/// Records events until `finish`.
pub struct Recorder {
    listener: Client,
    /// Tracking lasts as long as this connection.
    _tracker: Client,
}

impl Recorder {
    /// All recorded events, as `<event> <key>` (of database 0) and `invalidated <key>`, in order.
    /// Keyspace and keyevent channels report the same event; one of the two is kept.
    pub fn finish(mut self, server: &Server) -> Vec<String> {
        // The effects of a command are sent before the reply to the next one.
        server.run("PING");
        server.run("PUBLISH end-of-record now");
        let mut heard = Vec::new();
        loop {
            let message = match self.listener.receive() {
                Value::Array(items) | Value::Push { data: items, .. } => items,
                other => panic!("no message: {other:?}"),
            };
            let [.., channel, payload] = message.as_slice() else { panic!("a short message") };
            let channel = text(channel);
            match (channel.strip_prefix("__keyevent@0__:"), channel.as_str()) {
                (Some(event), _) => heard.push(format!("{event} {}", text(payload))),
                (None, "end-of-record") => return heard,
                // Redict writes it as "__redict__:invalidat".
                (None, channel) if channel.contains("__:invalidat") => {
                    let keys = bytes_list(payload.clone());
                    heard.extend(
                        keys.iter().map(|key| format!("invalidated {}", key.escape_ascii())),
                    );
                }
                (None, channel) => assert!(channel.starts_with("__key"), "{channel}"),
            }
        }
    }
}

/// Checks an error against the rules for error texts and returns its text: the code word, then an
/// ASCII sentence of one line without a final dot.
pub fn assert_error(reply: &Value, code: &str, of: &str) -> String {
    assert!(matches!(reply, Value::ServerError(_)), "{of} gave {reply:?}, not an error {code}");
    let error = text(reply);
    let (word, sentence) = error.split_once(' ').unwrap_or((&error, ""));
    assert_eq!(word, code, "{of} gave: {error}");
    assert!(sentence.len() > 5, "{of}: no sentence in: {error}");
    assert!(error.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{of}: {error:?}");
    assert!(!error.ends_with('.'), "{of}: a final dot in: {error}");
    error
}

pub fn integer(reply: &Value) -> i64 {
    match reply {
        Value::Int(number) => *number,
        other => panic!("not an integer: {other:?}"),
    }
}

/// The strings of an array reply.
pub fn bytes_list(reply: Value) -> Vec<Vec<u8>> {
    redis::from_redis_value(reply).expect("an array of strings")
}

/// The strings of an array reply as text.
pub fn words(reply: Value) -> Vec<String> {
    bytes_list(reply).iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}
