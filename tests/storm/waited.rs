//! Retries and other questions with WAIT after them: what a replica has acknowledged is there when
//! it is promoted, even if another connection has sent the first command and the replica sometimes
//! stalls.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use redis::Value;

use crate::harness::{Client, Server};
use crate::length::{Tally, histories};

const CLIENTS: usize = 4;

/// A command about an order, its last arguments, and the answer to it after the first of its list.
type Question = (&'static str, &'static str, i64);

/// The states that an order may have once the first of these commands was accepted and any of them
/// was answered again.
type Step = (&'static [Question], &'static [&'static str]);

const TRIED: Step = (&[("TRY", "", 0), ("EXTEND", " 1", 1)], &["held", "sold", "cancelled"]);
const CONFIRMED: Step = (
    &[("CONFIRM", " REF p", 2), ("EXTEND", " 1", 2), ("CANCEL", " IF held", 3), ("TRY", "", 0)],
    &["sold"],
);
const CANCELLED: Step = (
    &[("CANCEL", "", 2), ("EXTEND", " 1", 3), ("CONFIRM", " REF p", 3), ("TRY", "", 5)],
    &["cancelled"],
);

/// The states of an order that the promoted replica's book may have.
struct Promise {
    id: String,
    states: &'static [&'static str],
}

/// What the clients of a history share.
struct Shared {
    stop: AtomicBool,
    waited: AtomicUsize,
    promises: Mutex<Vec<Promise>>,
}

/// Between a replica and its primary. Data that a stalled replica has not read would be in the
/// kernel and not be lost; data that has not passed through here is lost.
struct Link {
    port: u16,
    is_stalled: Arc<AtomicBool>,
    is_cut: Arc<AtomicBool>,
}

impl Link {
    fn to(primary: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (is_stalled, is_cut) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let flags = (Arc::clone(&is_stalled), Arc::clone(&is_cut));
        thread::spawn(move || {
            for replica in listener.incoming().flatten() {
                let Ok(primary) = TcpStream::connect(("127.0.0.1", primary)) else { return };
                let [from, to] = [&replica, &primary].map(|side| side.try_clone().expect("a side"));
                let (is_stalled, is_cut) = (Arc::clone(&flags.0), Arc::clone(&flags.1));
                thread::spawn(move || pass(from, to, &AtomicBool::new(false), &is_cut));
                let is_cut = Arc::clone(&flags.1);
                thread::spawn(move || pass(primary, replica, &is_stalled, &is_cut));
            }
        });
        Self { port, is_stalled, is_cut }
    }

    fn stall(&self, is_stalled: bool) {
        self.is_stalled.store(is_stalled, Ordering::Relaxed);
    }

    /// Cuts the link forever.
    fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
    }
}

/// Passes bytes on while nothing stalls, until the link is cut or a side has closed.
fn pass(mut from: TcpStream, mut to: TcpStream, is_stalled: &AtomicBool, is_cut: &AtomicBool) {
    let mut bytes = [0; 4096];
    from.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    while !is_cut.load(Ordering::Relaxed) {
        if is_stalled.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        match from.read(&mut bytes) {
            Ok(0) => return,
            // If the link stalls meanwhile, these bytes wait for its end, too.
            Ok(len) => {
                while is_stalled.load(Ordering::Relaxed) && !is_cut.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
                if is_cut.load(Ordering::Relaxed) || to.write_all(&bytes[..len]).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

/// An answer, or None from a server that is gone.
fn tell(client: &mut Client, command: &str) -> Option<Value> {
    let words: Vec<&str> = command.split(' ').collect();
    let mut sent = redis::cmd(words[0]);
    sent.arg(&words[1..]);
    client.raw().send_packed_command(&sent.get_packed_command()).ok()?;
    client.raw().recv_response().ok()
}

/// Sends commands on one connection, and on another the same or others about the same orders, with
/// WAIT, until the server is gone or enough is done.
fn retry(mut first: Client, mut second: Client, seed: u64, who: usize, shared: &Shared) -> usize {
    let mut random = fastrand::Rng::with_seed(seed ^ who as u64);
    let mut count = 0;
    while !shared.stop.load(Ordering::Relaxed) {
        count += 1;
        let id = format!("o{who}-{count}");
        let steps = [Some(&TRIED), [Some(&CONFIRMED), Some(&CANCELLED), None][random.usize(0..3)]];
        for (questions, states) in steps.into_iter().flatten() {
            let command = |(name, more, _): Question| {
                // Each order has its own payment.
                let more = more.replace("REF p", &format!("REF {id}"));
                format!("SECKILL.{name} 7 u{who}-{count} {id}{more}")
            };
            let answer = tell(&mut first, &command(questions[0]));
            let Some(Value::Int(0 | 1)) = answer else { return count };
            let question = random.choice(*questions).copied().expect("one");
            let Some(answer) = tell(&mut second, &command(question)) else { return count };
            assert_eq!(answer, Value::Int(question.2), "{question:?}");
            let Some(Value::Int(replicas)) = tell(&mut second, "WAIT 1 30") else { return count };
            if replicas == 1 {
                shared.waited.fetch_add(1, Ordering::Relaxed);
                shared.promises.lock().expect("promises").push(Promise { id: id.clone(), states });
            }
        }
    }
    count
}

#[test]
fn a_retry_that_was_waited_for_survives_a_failover() {
    histories("waited for", 3, |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut old = Server::with().port().start();
        old.run("SECKILL.CREATE 7 1000000 HOLD 600000");
        let link = Link::to(old.port());
        let replicaof = format!("replicaof 127.0.0.1 {}", link.port);
        let new = Server::with().port().config(replicaof).start();
        old.wait_for_replica(&new);
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            waited: AtomicUsize::new(0),
            promises: Mutex::new(Vec::new()),
        });
        let threads = (0..CLIENTS).map(|who| {
            let (first, second) = (old.client(), old.client());
            let shared = Arc::clone(&shared);
            thread::spawn(move || retry(first, second, seed, who, &shared))
        });
        let threads: Vec<_> = threads.collect();
        let wait_for_more = |count: usize| {
            let enough = shared.waited.load(Ordering::Relaxed) + count;
            let is_enough = || shared.waited.load(Ordering::Relaxed) >= enough;
            new.until("orders that were waited for", is_enough);
        };
        // The clients continue, and wait without success.
        let go_on = |server: &Server| {
            let accepted = || server.info_number("seckill_tries_accepted");
            let enough = accepted() + CLIENTS as i64 * 2;
            server.until("tries beside a stalled replica", || accepted() >= enough);
        };
        for _ in 0..random.u8(2..6) {
            wait_for_more(random.usize(1..60));
            link.stall(true);
            go_on(&old);
            link.stall(false);
        }
        wait_for_more(random.usize(1..60));
        if random.u8(0..3) > 0 {
            link.stall(true);
            go_on(&old);
        }
        link.cut();
        old.kill9();
        shared.stop.store(true, Ordering::Relaxed);
        let commands = threads.into_iter().map(|thread| thread.join().expect("a client")).sum();
        assert_eq!(new.run("REPLICAOF NO ONE"), Value::Okay);
        let promises = shared.promises.lock().expect("promises");
        for Promise { id, states } in promises.iter() {
            let Value::Array(order) = new.run(&format!("SECKILL.ORDER 7 {id}")) else {
                panic!("{id} was waited for and is lost");
            };
            let state = crate::harness::text(&order[5]);
            assert!(states.contains(&state.as_str()), "{id} is {state}, not {states:?}");
        }
        Tally { commands, answered: promises.len(), ends: 1, ..Tally::default() }
    });
}
