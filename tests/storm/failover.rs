//! Sentinels that fail over, and clients that ask them for the primary; with and without
//! `min-replicas-to-write`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use redis::{IntoConnectionInfo, Value};

use crate::crash::hold_ms;
use crate::harness::{Server, Wire, text, wait_for};
use crate::length::{Tally, histories};
use crate::load::{DEPTH, Load, Log, batch};
use crate::replicas::assert_promoted;
use crate::script::Script;
use crate::world::{make, wait_for_holds};

/// Few, so that the Sentinels get processor time too.
const CLIENTS: usize = 2;

/// How long a client waits for a server before it asks the Sentinels for another one.
const PATIENCE: Duration = Duration::from_secs(1);

fn connect(port: u16) -> redis::RedisResult<Wire> {
    let address = format!("redis://127.0.0.1:{port}").into_connection_info()?;
    Ok(Wire::connect(&address, PATIENCE)?)
}

/// The port of the primary according to one of the Sentinels.
fn ask_sentinels(sentinels: &[u16]) -> Option<u16> {
    sentinels.iter().find_map(|port| {
        let mut ask = redis::cmd("SENTINEL");
        ask.arg("GET-MASTER-ADDR-BY-NAME").arg("sale");
        let (_, port): (String, String) = ask.query(&mut connect(*port).ok()?).ok()?;
        port.parse().ok()
    })
}

/// A connection to the primary that the Sentinels name, if that server agrees.
fn follow(sentinels: &[u16]) -> Option<(u16, Wire)> {
    let port = ask_sentinels(sentinels)?;
    let mut connection = connect(port).ok()?;
    let role: Value = redis::cmd("ROLE").query(&mut connection).ok()?;
    let Value::Array(role) = role else { return None };
    (text(role.first()?) == "master").then_some((port, connection))
}

/// Connections that follow the Sentinels. Each session with a server has its own users and ids.
struct Followers {
    threads: Vec<JoinHandle<Vec<(u16, Log)>>>,
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
}

impl Followers {
    fn start(sentinels: &[u16], seed: u64) -> Self {
        let (stop, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let threads = (0..CLIENTS).map(|me| {
            let (stop, answered) = (Arc::clone(&stop), Arc::clone(&answered));
            let sentinels = sentinels.to_vec();
            thread::spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed ^ me as u64);
                let mut sessions = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let found = wait_long_for("a primary", || {
                        let is_over = stop.load(Ordering::Relaxed);
                        if is_over { Some(None) } else { follow(&sentinels).map(Some) }
                    });
                    let Some((port, mut connection)) = found.expect("a primary") else { break };
                    let mut script = Script::new(&format!("{}f{me}", sessions.len()), seed);
                    let mut log = Log::new();
                    let is_refused = |log: &Log| match log.last().and_then(|sent| sent.answer()) {
                        Some(Value::ServerError(error)) => error.code() == "READONLY",
                        _ => false,
                    };
                    while !stop.load(Ordering::Relaxed)
                        && batch(
                            &mut connection,
                            &mut script,
                            random.usize(1..=DEPTH),
                            &answered,
                            &mut log,
                        )
                        && !is_refused(&log)
                    {}
                    sessions.push((port, log));
                }
                sessions
            })
        });
        Self { threads: threads.collect(), stop, answered }
    }

    fn wait_for_more_answers(&self, count: usize) {
        let enough = self.answered.load(Ordering::Relaxed) + count;
        let come = wait_long_for("answers", || {
            (self.answered.load(Ordering::Relaxed) >= enough).then_some(())
        });
        come.expect("answers to the load");
    }

    /// The logs of the server at `port`, and of the other servers.
    fn end(self, port: u16) -> [Vec<Log>; 2] {
        self.stop.store(true, Ordering::Relaxed);
        let sessions = self.threads.into_iter().flat_map(|thread| thread.join().expect("a client"));
        let (old, new): (Vec<_>, Vec<_>) = sessions.partition(|(to, _)| *to == port);
        [old, new].map(|sessions| sessions.into_iter().map(|(_, log)| log).collect())
    }
}

/// Sentinels wait for each other, and start again if they have not agreed. A Sentinel that was kept
/// waiting for two seconds does nothing for thirty ("TILT").
fn wait_long_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> Result<T, String> {
    (0..4).map(|_| wait_for(what, &mut ask)).find(Result::is_ok).ok_or(format!("no {what}"))?
}

/// Sentinels that watch a primary, and know each other and its replicas.
fn watch(primary: &Server, replicas: usize) -> Vec<Server> {
    let sentinel = || {
        Server::with()
            .without_module()
            .port()
            .config(format!("sentinel monitor sale 127.0.0.1 {} 2", primary.port()))
            .config("sentinel down-after-milliseconds sale 1500")
            .config("sentinel failover-timeout sale 5000")
            .start()
    };
    let sentinels: Vec<_> = (0..3).map(|_| sentinel()).collect();
    for sentinel in &sentinels {
        sentinel.until("Sentinels that know each other", || {
            let number = |name| {
                let value = sentinel.field("SENTINEL MASTER sale", name);
                text(&value).parse::<usize>().expect("a number")
            };
            number("num-slaves") == replicas && number("num-other-sentinels") == 2
        });
    }
    sentinels
}

/// Waits until the Sentinels name another primary, and returns it.
fn wait_for_another<'s>(sentinels: &[u16], old: u16, others: &'s [Server]) -> &'s Server {
    let port = wait_long_for("a failover", || ask_sentinels(sentinels).filter(|port| *port != old));
    let port = port.expect("a new primary");
    others.iter().find(|server| server.port() == port).expect("one of the replicas")
}

/// Waits until a server is a replica of the new primary. Sentinels close all connections when they
/// reconfigure a server, so each question uses a new one.
fn wait_until_told(server: &Server, new: &Server) {
    let lines = [format!("master_port:{}", new.port()), "master_link_status:up".to_owned()];
    let told = wait_long_for("a server to be told", || {
        let mut connection = connect(server.port()).ok()?;
        let info: String = redis::cmd("INFO").arg("replication").query(&mut connection).ok()?;
        lines.iter().all(|line| info.contains(line)).then_some(())
    });
    told.unwrap_or_else(|late| panic!("{late}\n{}", server.log()));
}

/// How a primary disappears and returns.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Killed,
    /// It is stopped and wakes up as a primary, whose clients continue. Nothing stops it from
    /// answering them, or only the number of replicas that it requires.
    Frozen {
        min_replicas: u8,
    },
}

fn fail_over(seed: u64, end: End) -> Tally {
    let mut random = fastrand::Rng::with_seed(seed);
    let hold_ms = hold_ms(&mut random);
    let min_replicas = if let End::Frozen { min_replicas } = end { min_replicas } else { 0 };
    let server = || {
        Server::with()
            .config(format!("min-replicas-to-write {min_replicas}"))
            .config("min-replicas-max-lag 2")
    };
    let mut old = server().port().start();
    let servers: Vec<_> = (0..2).map(|_| server().replica_of(&old).start()).collect();
    servers.iter().for_each(|replica| old.wait_for_replica(replica));
    make(&old, hold_ms);
    let sentinels = watch(&old, servers.len());
    let ports: Vec<_> = sentinels.iter().map(Server::port).collect();
    let load = Followers::start(&ports, seed);
    // A client that never gives up its connection: a primary that wakes up answers it until the
    // Sentinels reconfigure that server.
    let stubborn = (end != End::Killed).then(|| Load::alone(&old, seed, 99));
    load.wait_for_more_answers(random.usize(500..2000));
    let gone = Instant::now();
    if end == End::Killed {
        old.kill9()
    } else {
        old.freeze()
    }
    let new = wait_for_another(&ports, old.port(), &servers);
    load.wait_for_more_answers(random.usize(200..1000));
    println!("sold again {:?} after the primary went away", gone.elapsed());
    if end == End::Killed {
        old.start_again()
    } else {
        old.wake()
    }
    let others = || servers.iter().chain([&old]).filter(|server| server.port() != new.port());
    others().for_each(|server| wait_until_told(server, new));
    load.wait_for_more_answers(200);
    let [mut before, after] = load.end(old.port());
    before.extend(stubborn.into_iter().flat_map(Load::end));
    // Without Sentinels, no connection is closed any more.
    drop(sentinels);
    others().for_each(|server| wait_until_told(server, new));
    servers.iter().chain([&old]).for_each(Server::reconnect);
    wait_for_holds(new, hold_ms);
    assert!(after.iter().flatten().count() > 0, "nobody has followed");
    let others: Vec<_> = others().collect();
    assert_promoted(new, &others, gone, before, after).0
}

#[test]
fn sentinels_fail_over_and_lose_the_end_of_the_history_at_most() {
    histories("failover by Sentinels", 1, |seed| {
        let ends = [End::Killed, End::Frozen { min_replicas: 0 }, End::Frozen { min_replicas: 1 }];
        let end = ends[(seed % 3) as usize];
        println!("{end:?}");
        fail_over(seed, end)
    });
}
