//! A slot that moves between two nodes key by key, and the answers that a node's keys demand of it.

use std::collections::BTreeSet;

use crate::cluster::two_nodes;
use crate::harness::{Server, database, text, wait_for};
use crate::observe::words;
use crate::slots::{keys_in, node_id, slot};
use redis::Value;

/// What can be done to a slot, or to the keys in it.
#[derive(Clone, Debug)]
pub enum Step {
    /// The owner starts to migrate the slot.
    Begin,
    Migrate(String),
    /// Both nodes are told that the slot has moved. The source refuses this while it has keys.
    Finish,
    /// Only the target is told. The source learns of it later and deletes its remaining keys; Redis
    /// 7.0 fires no event for them.
    Take,
    /// The slot stays where it was, whichever keys have moved.
    Abort,
    /// A command sent to the owner, or to the target of a move.
    AtOwner(String),
    AtTarget(String),
}

/// One voucher, the only one in its slot.
pub struct Moving<'a> {
    nodes: &'a [Server; 2],
    pub voucher: String,
    slot: i64,
    owner: usize,
    is_moving: bool,
    tries: u32,
    /// The steps so far, for messages.
    pub history: Vec<String>,
}

/// Two nodes, each with slots of its own besides the moving one: a node that lost its last slot
/// would become a replica.
pub fn nodes() -> [Server; 2] {
    let (first, second) = two_nodes();
    let nodes = [first, second];
    let mut other = Moving::new(&nodes, "{other}");
    [Step::Begin, Step::Finish].into_iter().for_each(|step| other.step(step));
    nodes
}

const KINDS: [&str; 6] = ["stock", "order", "voucher", "book", "units", "hold"];

impl<'a> Moving<'a> {
    /// The first node owns all slots but one.
    pub fn new(nodes: &'a [Server; 2], tag: &str) -> Self {
        let slot = slot(&nodes[0], tag.as_bytes());
        let (voucher, history) = (format!("{tag}v"), Vec::new());
        Self { nodes, voucher, slot, owner: 0, is_moving: false, tries: 0, history }
    }

    pub fn owner(&self) -> &Server {
        &self.nodes[self.owner]
    }

    fn target(&self) -> &Server {
        &self.nodes[1 - self.owner]
    }

    pub fn is_moving(&self) -> bool {
        self.is_moving
    }

    pub fn key(&self, kind: &str) -> String {
        format!("seckill:{kind}:{}", self.voucher)
    }

    /// The keys of the slot that the owner has.
    pub fn keys(&self) -> Vec<String> {
        self.keys_at(self.owner).into_iter().collect()
    }

    fn keys_at(&self, node: usize) -> BTreeSet<String> {
        keys_in(&self.nodes[node], self.slot).into_iter().collect()
    }

    fn set_slot(&self, node: &Server, what: &str) {
        let reply = node.run(&format!("CLUSTER SETSLOT {} {what}", self.slot));
        assert_eq!(reply, Value::Okay, "{what}\n{}", self.history.join("\n"));
    }

    pub fn step(&mut self, step: Step) {
        self.history.push(format!("{step:?} (owner {})", self.owner));
        match step {
            Step::Begin => {
                self.wait_for_agreement();
                let (from, to) = (node_id(self.owner()), node_id(self.target()));
                self.set_slot(self.target(), &format!("IMPORTING {from}"));
                self.set_slot(self.owner(), &format!("MIGRATING {to}"));
                self.is_moving = true;
            }
            Step::Migrate(key) => {
                let port = self.target().port();
                let db = database();
                let migrate = format!("MIGRATE 127.0.0.1 {port} {key} {db} 5000 REPLACE");
                assert_eq!(self.owner().run(&migrate), Value::Okay, "{}", self.history.join("\n"));
            }
            Step::Finish => {
                let node = format!("NODE {}", node_id(self.target()));
                self.set_slot(self.target(), &node);
                self.set_slot(self.owner(), &node);
                (self.owner, self.is_moving) = (1 - self.owner, false);
            }
            Step::Take => {
                self.set_slot(self.target(), &format!("NODE {}", node_id(self.target())));
                let lost = wait_for("the source to lose the slot", || {
                    // This asks for no key of the voucher.
                    let reply = self.owner().call(&["EXISTS", &self.voucher]);
                    let has_lost =
                        matches!(&reply, Value::ServerError(error) if error.code() == "MOVED");
                    (has_lost && self.keys_at(self.owner).is_empty()).then_some(())
                });
                lost.unwrap_or_else(|late| panic!("{late}\n{}", self.owner().log()));
                // On Redis 7.0 the slot is still marked as migrating.
                self.set_slot(self.owner(), "STABLE");
                (self.owner, self.is_moving) = (1 - self.owner, false);
            }
            Step::Abort => {
                self.nodes.iter().for_each(|node| self.set_slot(node, "STABLE"));
                self.is_moving = false;
            }
            Step::AtOwner(command) => self.done(self.owner(), &command),
            Step::AtTarget(command) => {
                self.target().run("ASKING");
                self.done(self.target(), &command);
            }
        }
    }

    /// Waits until the nodes know each other's epochs: otherwise late news of the last move would
    /// take away a slot that is returned before it arrives.
    fn wait_for_agreement(&self) {
        let epochs = |server: &Server| -> BTreeSet<(String, String)> {
            let nodes = server.say("CLUSTER NODES");
            let words = nodes.lines().map(|line| line.split(' ').collect::<Vec<_>>());
            words.map(|words| (words[0].to_owned(), words[6].to_owned())).collect()
        };
        let agreed = wait_for("the nodes to agree", || {
            (epochs(&self.nodes[0]) == epochs(&self.nodes[1])).then_some(())
        });
        agreed.unwrap_or_else(|late| panic!("{late}"));
    }

    fn done(&self, node: &Server, command: &str) {
        let reply = text(&node.run(command));
        // A sale that lacks its stock, say, releases nothing.
        let is_done = !reply.starts_with("Server error") || reply.contains("INCOMPLETE");
        assert!(is_done, "{reply}: {}", self.history.join("\n"));
    }

    /// Tries and queries at both nodes, with ASKING and without, and compares every reply with what
    /// the keys demand. Each twice: the second meets what the first made the node remember.
    pub fn probe(&mut self) {
        for node in [self.owner, 1 - self.owner] {
            for is_asking in [false, true] {
                for user in ["ann", "ann", "new", "new"] {
                    self.tries += 1;
                    let user = match user {
                        "new" => format!("new{}", self.tries),
                        known => known.to_owned(),
                    };
                    let demanded = self.demanded(node, is_asking, Some(&user));
                    let attempt = format!("SECKILL.TRY {} {user} o{}", self.voucher, self.tries);
                    self.assert_answer(node, is_asking, &attempt, &demanded);
                }
                let demanded = self.demanded(node, is_asking, None);
                self.assert_answer(
                    node,
                    is_asking,
                    &format!("SECKILL.INFO {}", self.voucher),
                    &demanded,
                );
            }
        }
    }

    fn assert_answer(&self, node: usize, is_asking: bool, command: &str, demanded: &[String]) {
        let server = &self.nodes[node];
        if is_asking {
            server.run("ASKING");
        }
        let answer = match server.run(command) {
            Value::Array(_) => "shown".to_owned(),
            reply => text(&reply).split(' ').next().unwrap_or_default().to_owned(),
        };
        let keys = self.keys_at(node);
        assert!(
            demanded.contains(&answer),
            "{answer} and not {demanded:?}: {command} at node {node}, asking: {is_asking}, \
             which has \
             {keys:?}\n{}",
            self.history.join("\n")
        );
    }

    /// The possible answers of the node to a try of this user or to SECKILL.INFO: those of a node
    /// that remembers nothing, by the table in docs/cluster.md. SECKILL.INFO may ask for the count
    /// of extra units, which these vouchers don't have.
    fn demanded(&self, node: usize, is_asking: bool, user: Option<&str>) -> Vec<String> {
        let must = self.must_answer(node, is_asking, user, self.is_moving);
        let unseen = (self.is_moving && must == "shown").then(|| "TRYAGAIN".to_owned());
        [must].into_iter().chain(unseen).collect()
    }

    fn must_answer(
        &self,
        node: usize,
        is_asking: bool,
        user: Option<&str>,
        is_moving: bool,
    ) -> String {
        let here = self.keys_at(node);
        let is_owner = node == self.owner;
        if !(is_owner || is_moving && is_asking) {
            return "MOVED".into();
        }
        if is_owner && is_moving && !here.contains(&self.voucher) {
            return "ASK".into();
        }
        let tag = self.voucher.trim_end_matches('v');
        let [orders, released] =
            ["stream.orders", "stream.orders.released"].map(|stream| format!("{stream}:{tag}"));
        let has = |names: &[&str]| names.iter().all(|kind| here.contains(&self.key(kind)));
        let is_managed = has(&["voucher"]);
        let is_whole = has(&KINDS) && here.contains(&orders) && here.contains(&released);
        let read = |command: String| {
            if is_asking {
                self.nodes[node].run("ASKING");
            }
            self.nodes[node].run(&command)
        };
        let rules = if is_managed {
            text(&read(format!("GET {}", self.key("voucher"))))
        } else {
            String::new()
        };
        if is_moving {
            let is_held = is_managed && !rules.contains("\"hold\":null");
            let is_enough = has(&["stock", "order", "voucher", "book", "units"])
                && here.contains(&orders)
                && (!is_held || has(&["hold"]));
            if !is_whole && (user.is_none() || !is_enough) {
                return "TRYAGAIN".into();
            }
        }
        let Some(user) = user else {
            return if is_managed || has(&["stock"]) { "shown" } else { "NOVOUCHER" }.into();
        };
        if is_managed {
            let units = read(format!("HGET {} {user}", self.key("units")));
            // Otherwise the user has no units, or the node redirects us for a key that it lacks.
            if matches!(units, Value::BulkString(_)) {
                // All rules of these tests have a limit of one unit.
                return "2".into();
            }
        }
        if !has(&["stock"]) {
            return "NOVOUCHER".into();
        }
        // Read before the stock, which the timer may increase meanwhile.
        let due = if is_managed && has(&["hold"]) {
            match read(format!("ZRANGEBYSCORE {} -inf 1000", self.key("hold"))) {
                due @ Value::Array(_) => words(due),
                // The timer has ended the last hold since `keys_at`, and the slot is on its way.
                redirected => {
                    assert!(text(&redirected).contains("ASK"), "{redirected:?}");
                    Vec::new()
                }
            }
        } else {
            Vec::new()
        };
        let held_of = |order: &String| match read(format!("HGET {} {order}", self.key("book"))) {
            entry @ Value::BulkString(_) => Some(text(&entry).strip_prefix("held:1:")?.to_owned()),
            _ => None,
        };
        let mut due: Vec<String> = due.iter().filter_map(held_of).collect();
        if !has(&["order", "units"]) {
            // No hold is ended while a key of its user is elsewhere, as after a move broken off.
            due.clear();
        }
        let stock: i64 = text(&read(format!("GET {}", self.key("stock")))).parse().expect("units");
        if !is_managed {
            let member = read(format!("SISMEMBER {} {user}", self.key("order")));
            return if stock < 1 {
                "1"
            } else if member == Value::Int(1) {
                "2"
            } else {
                "0"
            }
            .into();
        }
        // Total is left, held and sold, whoever has written the stock. Nobody waits here.
        let total = rules.split(['{', ':', ',']).nth(2).and_then(|total| total.parse().ok());
        let units_of = |user: &str| match read(format!("HGET {} {user}", self.key("units"))) {
            Value::BulkString(_) => 1,
            _ => 0,
        };
        let all = format!("HLEN {}", self.key("units"));
        let taken = match read(all) {
            Value::Int(users) if has(&["units"]) => users,
            _ => 0,
        };
        let for_sale = total.unwrap_or(i64::MAX) - taken;
        if stock.min(for_sale) > 0 {
            return "0".into();
        }
        if is_moving && !is_whole {
            return "TRYAGAIN".into();
        }
        // What a hold returns to the stock is for sale if its user is on record.
        let users = due.iter().filter_map(|held| Some(held.split_once(':')?.1));
        let returned: i64 = users.map(units_of).sum();
        if !due.is_empty() && for_sale + returned > 0 { "0" } else { "1" }.into()
    }

    /// INFO counts the holds of managed vouchers that a node has, and no others. It may count more
    /// until they are due if a node has lost keys silently.
    pub fn check_holds_open(&self, may_be_more: bool) {
        for (number, node) in self.nodes.iter().enumerate() {
            let mut found = (0, [0, 0]);
            let counted = wait_for("the count of holds", || {
                let keys: BTreeSet<String> =
                    words(node.run("KEYS seckill:*")).into_iter().collect();
                let mut held = [0, 0];
                for key in &keys {
                    let Some(voucher) = key.strip_prefix("seckill:hold:") else { continue };
                    let Value::Int(count) = node.call(&["ZCARD", key]) else {
                        // The slot has not arrived yet or has left: the key may be counted or not.
                        held[1] += 1000;
                        continue;
                    };
                    let has = |kind: &str| keys.contains(&format!("seckill:{kind}:{voucher}"));
                    held[usize::from(!(has("voucher") && has("book")))] += count;
                }
                found = (node.info_number("seckill_holds_open"), held);
                let [managed, other] = held;
                let most = if may_be_more { i64::MAX } else { managed + other };
                (managed..=most).contains(&found.0).then_some(())
            });
            counted.unwrap_or_else(|late| {
                panic!("{late}: {found:?} at node {number}\n{}", self.history.join("\n"))
            });
        }
    }
}
