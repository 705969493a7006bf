//! Users who try for three kinds of vouchers at once, whatever happens to the cluster, and what
//! must be true of the vouchers afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use redis::cluster::{ClusterClient, ClusterConnection};
use redis::{Cmd, FromRedisValue, Value};

use crate::harness::{Server, text, wait_for};
use crate::nodes::Nodes;

/// What is on sale: a managed voucher with holds, one with only a stock, and one whose keys are
/// arguments.
#[derive(Clone)]
pub struct Goods {
    pub managed: String,
    pub bare: String,
    pub keys: String,
    pub stock: i64,
    /// How long orders of the managed voucher are held.
    pub hold_ms: i64,
}

/// A hold that does not end during a test.
pub const LONG_MS: i64 = 900_000;

/// The answers to the users of one connection.
#[derive(Default)]
pub struct Answers {
    /// Voucher to users who were accepted.
    pub accepted: BTreeMap<String, BTreeSet<String>>,
    pub cancelled: BTreeSet<String>,
    pub confirmed: BTreeSet<String>,
    /// Commands that the client gave up on and that were sent again.
    pub tried_again: usize,
    pub commands: usize,
    /// The longest time of a command, with all its repetitions.
    pub longest: Duration,
}

pub struct Buyers {
    threads: Vec<JoinHandle<Answers>>,
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
}

fn command(words: &str) -> Cmd {
    let mut words = words.split(' ');
    let mut command = redis::cmd(words.next().expect("a name"));
    command.arg(words.collect::<Vec<_>>());
    command
}

impl Goods {
    /// The second article of carts: another managed voucher in the slot, and the stream, of the
    /// first.
    pub fn beside(&self) -> String {
        format!("{{{}}}2", self.managed)
    }

    /// Creates the stocks and vouchers.
    pub fn open(&self, nodes: &Nodes) {
        let mut connection = connect(nodes);
        let Self { managed, bare, keys, stock, hold_ms } = self;
        for words in [
            format!("SECKILL.CREATE {managed} {stock} HOLD {hold_ms}"),
            format!("SECKILL.CREATE {} {stock} HOLD {hold_ms}", self.beside()),
            format!("SET seckill:stock:{{{bare}}} {stock}"),
            format!("SET stock:{{{keys}}} {stock}"),
        ] {
            command(&words).query::<()>(&mut connection).expect("a sale is opened");
        }
    }

    /// Checks everything when no user tries any more: the sold units are those of the answers, each
    /// to another user and no more than there were, and each has its order.
    pub fn check(&self, nodes: &Nodes, answers: &Answers) {
        let mut connection = connect(nodes);
        let mut ask = |words: String| -> Value {
            command(&words)
                .query(&mut connection)
                .unwrap_or_else(|error| panic!("{words}: {error}"))
        };
        let Self { managed, bare, keys, stock, hold_ms } = self;
        let of_bare = ["seckill:stock", "seckill:order", "stream.orders"];
        for (voucher, names) in [(bare, of_bare), (keys, ["stock", "buyers", "orders"])] {
            let names = names.map(|name| format!("{name}:{{{voucher}}}"));
            let left: i64 = text(&ask(format!("GET {}", names[0]))).parse().expect("a stock");
            let buyers = names_in(ask(format!("SMEMBERS {}", names[1])));
            let orders = orders_of(voucher, ask(format!("XRANGE {} - +", names[2])));
            assert_eq!(left + buyers.len() as i64, *stock, "{voucher}: left and sold");
            assert!(left >= 0, "{voucher}: {left}");
            assert_eq!(orders.len(), buyers.len(), "{voucher}: entries and buyers");
            assert_eq!(orders.iter().cloned().collect::<BTreeSet<_>>(), buyers, "{voucher}");
            let accepted = answers.accepted.get(voucher).cloned().unwrap_or_default();
            assert_eq!(accepted, buyers, "{voucher}: who was accepted has bought");
        }
        let audit = nodes.servers[nodes.owner(managed)].audited(managed);
        assert_eq!((audit.differences(), audit.number("total")), (Vec::new(), *stock));
        let buyers = names_in(ask(format!("SMEMBERS seckill:order:{{{managed}}}")));
        let accepted = answers.accepted.get(managed).cloned().unwrap_or_default();
        let stream = |kind: &str| format!("XRANGE stream.orders{kind}:{{{managed}}} - +");
        let released = orders_of(managed, ask(stream(".released")));
        let gone: BTreeSet<_> = released.iter().cloned().collect();
        assert_eq!(released.len(), gone.len(), "{managed}: given back once");
        assert!(gone.is_superset(&answers.cancelled) && gone.is_disjoint(&answers.confirmed));
        assert!(*hold_ms < LONG_MS || gone == answers.cancelled, "{managed}: give-backs");
        let live: BTreeSet<_> = accepted.difference(&gone).cloned().collect();
        assert_eq!(live, buyers, "{managed}: who was accepted and has not given back");
        let orders = orders_of(managed, ask(stream("")));
        assert_eq!(orders.len(), accepted.len());
        assert_eq!(orders.into_iter().collect::<BTreeSet<_>>(), accepted, "{managed}: entries");
        let paid = orders_of(managed, ask(stream(".confirmed")));
        let count = paid.len();
        let paid: BTreeSet<_> = paid.into_iter().collect();
        assert_eq!((count, &paid), (paid.len(), &answers.confirmed), "{managed}: confirmations");
        for user in &answers.confirmed {
            let order = ask(format!("SECKILL.ORDER {managed} o-{user}"));
            let Value::Array(order) = order else { panic!("{order:?}") };
            assert_eq!(text(&order[5]), "sold", "{user}");
        }
        // Who has bought a cart has both of its articles, and nobody else has the second.
        let beside = self.beside();
        let audit = nodes.servers[nodes.owner(managed)].audited(&beside);
        assert_eq!((audit.differences(), audit.number("total")), (Vec::new(), *stock));
        let carts = answers.accepted.get(&beside).cloned().unwrap_or_default();
        assert!(!carts.is_empty() && carts.is_subset(&accepted), "carts");
        assert_eq!(audit.number("orders"), carts.len() as i64, "{beside}: orders in the book");
        let orders = orders_of(&beside, ask(stream("")));
        assert_eq!(orders.len(), carts.len());
        assert_eq!(orders.into_iter().collect::<BTreeSet<_>>(), carts, "{beside}: entries");
    }
}

pub fn names_in(reply: Value) -> BTreeSet<String> {
    redis::from_redis_value(reply).expect("names")
}

/// The users of a stream's entries.
pub fn orders_in(reply: Value) -> Vec<String> {
    users_of(reply, |_| true)
}

/// Those of the entries of one voucher.
fn orders_of(voucher: &str, reply: Value) -> Vec<String> {
    users_of(reply, |other| other == voucher)
}

fn users_of(reply: Value, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
    let entries: Vec<(String, Vec<String>)> = redis::from_redis_value(reply).expect("entries");
    let meant = entries.into_iter().filter(|(_, fields)| is_meant(&fields[3]));
    meant.map(|(_, mut fields)| fields.swap_remove(1)).collect()
}

pub fn connect(nodes: &Nodes) -> ClusterConnection {
    // By default the client waits for more than a second before it retries.
    let client = ClusterClient::builder(nodes.urls()).retries(3);
    let client = client.min_retry_wait(1).max_retry_wait(20).build().expect("a client");
    client.get_connection().expect("a connection")
}

impl Buyers {
    /// Starts to try, on this many connections.
    pub fn start(nodes: &Nodes, goods: &Goods, connections: usize) -> Self {
        let (stop, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let threads = (0..connections).map(|number| {
            let (stop, answered) = (Arc::clone(&stop), Arc::clone(&answered));
            let (connection, goods) = (connect(nodes), goods.clone());
            thread::spawn(move || {
                let mut buyer = Buyer { connection, answers: Answers::default(), answered };
                let mut turn = 0;
                while !stop.load(Ordering::Relaxed) {
                    buyer.shop(&goods, &format!("u{number}-{turn}"));
                    turn += 1;
                }
                buyer.answers
            })
        });
        Self { threads: threads.collect(), stop, answered }
    }

    /// Waits until this many more commands have been answered.
    pub fn wait_for_more(&self, count: usize, server: &Server) {
        let wanted = self.answered.load(Ordering::Relaxed) + count;
        server.until("answers", || {
            let enough = self.answered.load(Ordering::Relaxed) >= wanted;
            enough || self.threads.iter().any(JoinHandle::is_finished)
        });
    }

    pub fn end(self) -> Answers {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Answers::default();
        for thread in self.threads {
            let one = thread.join().expect("a buyer");
            for (voucher, users) in one.accepted {
                all.accepted.entry(voucher).or_default().extend(users);
            }
            all.cancelled.extend(one.cancelled);
            all.confirmed.extend(one.confirmed);
            all.tried_again += one.tried_again;
            all.commands += one.commands;
            all.longest = all.longest.max(one.longest);
        }
        all
    }
}

/// Final answers of a cluster client while slots move. The command had no effect.
const UNDONE: [&str; 3] = ["TRYAGAIN", "MOVED", "ASK"];

struct Buyer {
    connection: ClusterConnection,
    answers: Answers,
    answered: Arc<AtomicUsize>,
}

impl Buyer {
    /// Repeats a command until it succeeds.
    fn ask<R: FromRedisValue>(&mut self, words: &str) -> R {
        let start = Instant::now();
        let reply =
            wait_for("an answer", || match command(words).query::<R>(&mut self.connection) {
                Ok(outcome) => Some(Ok(outcome)),
                Err(error) if error.code().is_some_and(|code| UNDONE.contains(&code)) => {
                    self.answers.tried_again += 1;
                    None
                }
                Err(error) => Some(Err(error)),
            });
        self.answers.commands += 1;
        self.answers.longest = self.answers.longest.max(start.elapsed());
        self.answered.fetch_add(1, Ordering::Relaxed);
        match reply {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => panic!("{words}: {error}"),
            Err(late) => panic!("{words}: {late}"),
        }
    }

    /// Tries for several users in one command.
    fn batch(&mut self, voucher: &str, users: &[String]) {
        let pairs: Vec<_> = users.iter().map(|user| format!("{user} o-{user}")).collect();
        let words = format!("SECKILL.MTRY {voucher} {}", pairs.join(" "));
        let outcomes: Vec<i64> = self.ask(&words);
        assert_eq!(outcomes.len(), users.len());
        for (user, _) in users.iter().zip(outcomes).filter(|(_, outcome)| *outcome == 0) {
            self.accept(voucher, user);
        }
    }

    /// Notes that a user has bought.
    fn accept(&mut self, voucher: &str, user: &str) {
        let accepted = self.answers.accepted.entry(voucher.to_owned()).or_default();
        assert!(accepted.insert(user.to_owned()), "{user}: accepted twice");
    }

    /// Tries for the managed voucher and the one beside it in one order.
    fn cart(&mut self, goods: &Goods, user: &str) {
        let articles = [goods.managed.clone(), goods.beside()];
        let words = format!("SECKILL.TRYALL {} 1 {} 1 {user} o-{user}", articles[0], articles[1]);
        let outcomes: Vec<i64> = self.ask(&words);
        let bought = outcomes == [0, 0];
        assert!(bought || !outcomes.contains(&0), "{user}: {outcomes:?}");
        if bought {
            articles.iter().for_each(|voucher| self.accept(voucher, user));
        }
    }

    /// One user tries for all three, one in three for a cart with the first of them, and confirms,
    /// cancels, or neither. One in ten comes with two more who only buy.
    fn shop(&mut self, goods: &Goods, user: &str) {
        let Goods { managed, bare, keys, .. } = goods;
        let by_keys = format!("stock:{{{keys}}} buyers:{{{keys}}} orders:{{{keys}}}");
        if user.ends_with(['0', '5', '8']) {
            self.cart(goods, user);
        } else if self.ask::<i64>(&format!("SECKILL.TRY {managed} {user} o-{user}")) == 0 {
            self.accept(managed, user);
        }
        for (voucher, words) in [
            (bare, format!("SECKILL.TRY {bare} {user} o-{user}")),
            (keys, format!("SECKILL.TRYKEYS {by_keys} {keys} {user} o-{user}")),
        ] {
            if self.ask::<i64>(&words) == 0 {
                self.accept(voucher, user);
            }
        }
        let has = self.answers.accepted.get(managed).is_some_and(|users| users.contains(user));
        match user.bytes().last() {
            Some(b'0'..=b'4') if has => {
                match self.ask::<i64>(&format!("SECKILL.CANCEL {managed} {user} o-{user}")) {
                    1 => drop(self.answers.cancelled.insert(user.to_owned())),
                    late => assert!(late == 2 && goods.hold_ms < LONG_MS, "{user}: {late}"),
                }
            }
            Some(b'5'..=b'8') if has => {
                match self.ask::<i64>(&format!("SECKILL.CONFIRM {managed} {user} o-{user}")) {
                    1 => drop(self.answers.confirmed.insert(user.to_owned())),
                    late => assert!(late == 3 && goods.hold_ms < LONG_MS, "{user}: {late}"),
                }
            }
            Some(b'9') => {
                let users = ["b", "c"].map(|mate| format!("{user}{mate}"));
                self.batch(managed, &users);
                self.batch(bare, &users);
            }
            _ => {}
        }
    }
}

/// How often nodes have answered TRYAGAIN or ASK.
pub fn redirected(nodes: &Nodes) -> i64 {
    let counted = |server: &Server| {
        let count = |code: &str| {
            let stat = server.info(&format!("errorstat_{code}"));
            stat.and_then(|stat| stat.strip_prefix("count=")?.parse::<i64>().ok()).unwrap_or(0)
        };
        count("TRYAGAIN") + count("ASK")
    };
    nodes.servers.iter().map(counted).sum()
}
