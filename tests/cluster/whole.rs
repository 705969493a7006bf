//! Slots that move whole while users try and wait for locks: completely, cancelled, and with a node
//! killed in the middle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::{self, JoinHandle};

use crate::buyers::{Buyers, Goods, connect, names_in, orders_in};
use crate::harness::{Server, wait_for};
use crate::moves::{goods, report};
use crate::nodes::{Nodes, PRIMARIES};
use crate::whole_slots::{Mover, wait_until_served};

/// How long a client waits in the queue for the lock.
const WAIT_MS: u64 = 2_000;

/// Clients that acquire the lock `{m}lock` in turn while its slot moves.
struct Lockers {
    threads: Vec<JoinHandle<usize>>,
    stop: Arc<AtomicBool>,
}

impl Lockers {
    fn start(nodes: &Nodes, count: usize) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let inside = Arc::<AtomicI64>::default();
        let threads = (0..count).map(|number| {
            let (stop, inside, connection) =
                (Arc::clone(&stop), Arc::clone(&inside), connect(nodes));
            thread::spawn(move || take_turns(connection, number, &stop, &inside))
        });
        Self { threads: threads.collect(), stop }
    }

    /// Stops them. Returns how often the lock was acquired.
    fn end(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().map(|thread| thread.join().expect("a client")).sum()
    }
}

fn take_turns(
    mut connection: redis::cluster::ClusterConnection,
    number: usize,
    stop: &AtomicBool,
    inside: &AtomicI64,
) -> usize {
    let mut turns = 0;
    while !stop.load(Ordering::Relaxed) {
        let token = format!("t{number}-{turns}");
        let mut acquire = redis::cmd("LOCK.ACQUIRE");
        acquire.arg("{m}lock").arg(&token).arg(600_000).arg("BLOCK").arg(WAIT_MS);
        match acquire.query::<i64>(&mut connection) {
            Ok(1) => {}
            Ok(other) => {
                assert_eq!(other, 0);
                continue;
            }
            // The slot has left: a waiter is answered so at once.
            Err(error) if error.code() == Some("TRYAGAIN") => continue,
            Err(error) => panic!("{error}"),
        }
        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two are inside");
        inside.fetch_sub(1, Ordering::SeqCst);
        let released = wait_for("the release", || {
            let mut release = redis::cmd("LOCK.RELEASE");
            match release.arg("{m}lock").arg(&token).query::<i64>(&mut connection) {
                Ok(released) => Some(released),
                Err(error) if error.code() == Some("TRYAGAIN") => None,
                Err(error) => panic!("{error}"),
            }
        });
        assert_eq!(released, Ok(1), "{token}");
        turns += 1;
    }
    turns
}

#[test]
fn a_sale_goes_on_while_slots_move_in_one_step() {
    let nodes = Nodes::start();
    let Some(mover) = Mover::of(&nodes.servers[0]) else { return };
    // Holds expire meanwhile.
    let goods = Goods { hold_ms: 40, ..goods(100_000) };
    goods.open(&nodes);
    let buyers = Buyers::start(&nodes, &goods, 4);
    let lockers = Lockers::start(&nodes, 3);
    for round in 0..4 * PRIMARIES {
        let voucher = [&goods.managed, &goods.bare, &goods.keys][round % 3];
        buyers.wait_for_more(100, &nodes.servers[0]);
        let from = nodes.owner(voucher);
        let (source, target) = (&nodes.servers[from], &nodes.servers[(from + 1) % PRIMARIES]);
        mover.move_slot(source, target, voucher);
    }
    buyers.wait_for_more(300, &nodes.servers[0]);
    let (answers, turns) = (buyers.end(), lockers.end());
    report(&nodes, &answers);
    println!("the lock was handed over {turns} times");
    assert!(turns > 20, "{turns}");
    check_at_rest(&nodes, &goods);
    goods.check(&nodes, &answers);
    // Only clients in the queue got TRYAGAIN, and no client got ASK.
    let asked = nodes.servers.iter().filter(|node| node.info("errorstat_ASK").is_some()).count();
    assert_eq!(asked, 0);
}

#[test]
fn a_sale_goes_on_while_moves_are_broken_off() {
    let nodes = Nodes::start();
    let Some(mover) = Mover::of(&nodes.servers[0]) else { return };
    let goods = Goods { hold_ms: 40, ..goods(100_000) };
    goods.open(&nodes);
    let from = nodes.owner(&goods.managed);
    let (source, target) = (&nodes.servers[from], &nodes.servers[(from + 1) % PRIMARIES]);
    mover.hold_up(source, target, true);
    let buyers = Buyers::start(&nodes, &goods, 4);
    for _ in 0..4 {
        buyers.wait_for_more(50, source);
        mover.begin(source, target, &goods.managed);
        mover.wait_for_copy(target);
        buyers.wait_for_more(200, source);
        mover.cancel(source, target);
        wait_until_forgotten(target);
    }
    mover.hold_up(source, target, false);
    // Then one move that is completed.
    mover.move_slot(source, target, &goods.managed);
    buyers.wait_for_more(200, source);
    let answers = buyers.end();
    report(&nodes, &answers);
    check_at_rest(&nodes, &goods);
    goods.check(&nodes, &answers);
    wait_until_forgotten(source);
}

/// Waits until a node that does not own the slot of `m` counts no holds.
fn wait_until_forgotten(server: &Server) {
    let is_open = || server.info_number("seckill_holds_open") > 0;
    server.until("the holds to be forgotten", || !is_open());
}

/// Checks that all holds end and that a replica has its primary's data.
fn check_at_rest(nodes: &Nodes, goods: &Goods) {
    let from = nodes.owner(&goods.managed);
    let (owner, replica) = (&nodes.servers[from], &nodes.servers[from + PRIMARIES]);
    let holds =
        format!("EXISTS seckill:hold:{{{}}} seckill:hold:{}", goods.managed, goods.beside());
    owner.until("all holds to end", || owner.say(&holds) == "0");
    owner.wait_for_replica(replica);
    assert_eq!(owner.digest(), replica.digest());
}

/// Sells on one node, to users of whom each third cancels, until it is stopped or the node is gone.
/// Returns the number of units sold, if every answer arrived.
fn sell(server: &Server, name: usize, stop: &Arc<AtomicBool>) -> JoinHandle<i64> {
    let (mut client, stop) = (server.client(), Arc::clone(stop));
    thread::spawn(move || {
        let mut out = 0;
        for turn in 0.. {
            let user = format!("u{name}-{turn}");
            let mut ask = |command: &str| {
                let mut command = redis::cmd(command);
                command.arg("m").arg(&user).arg(&user).query::<i64>(client.raw())
            };
            match ask("SECKILL.TRY") {
                Ok(0) => out += 1,
                Ok(other) => panic!("{user}: {other}"),
                Err(_) => break,
            }
            if turn % 3 == 0 {
                match ask("SECKILL.CANCEL") {
                    Ok(1) => out -= 1,
                    Ok(other) => panic!("{user}: {other}"),
                    Err(_) => break,
                }
            }
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        out
    })
}

const STOCK: i64 = 100_000;

/// Checks that the keys of `m` agree with each other; returns the number of units sold.
fn units_out(server: &Server) -> i64 {
    let audit = server.audited("m");
    assert_eq!((audit.differences(), audit.number("total")), (Vec::new(), STOCK));
    let left: i64 = server.say("GET seckill:stock:{m}").parse().expect("a stock");
    let buyers = names_in(server.run("SMEMBERS seckill:order:{m}"));
    assert_eq!(left + buyers.len() as i64, STOCK);
    let sold = orders_in(server.run("XRANGE stream.orders:{m} - +"));
    let released = orders_in(server.run("XRANGE stream.orders.released:{m} - +"));
    assert_eq!(sold.len() - released.len(), buyers.len(), "entries and buyers");
    buyers.len() as i64
}

struct Killing {
    nodes: Nodes,
    mover: Mover,
    source: usize,
    target: usize,
    sellers: Vec<JoinHandle<i64>>,
    stop: Arc<AtomicBool>,
}

/// A slot half-way: all of its keys are at the target, the sale continues at the source.
fn half_way() -> Option<Killing> {
    let builder = Server::with().config("cluster-node-timeout 2000");
    let nodes = Nodes::start_with(builder.config("cluster-replica-validity-factor 0"));
    let mover = Mover::of(&nodes.servers[0])?;
    let source = nodes.owner("m");
    let target = (source + 1) % PRIMARIES;
    let (from, to) = (&nodes.servers[source], &nodes.servers[target]);
    from.run(&format!("SECKILL.CREATE m {STOCK} HOLD 3600000"));
    let stop = Arc::<AtomicBool>::default();
    let sellers: Vec<_> = (0..3).map(|name| sell(from, name, &stop)).collect();
    mover.hold_up(from, to, true);
    mover.begin(from, to, "m");
    mover.wait_for_copy(to);
    Some(Killing { nodes, mover, source, target, sellers, stop })
}

fn is_primary(server: &Server) -> bool {
    let is_primary = server.info("role").as_deref() == Some("master");
    is_primary && server.say("CLUSTER INFO").contains("cluster_state:ok")
}

#[test]
fn a_target_that_dies_leaves_the_sale_where_it_is() {
    let Some(mut killing) = half_way() else { return };
    killing.nodes.servers[killing.target].kill9();
    let source = &killing.nodes.servers[killing.source];
    let left = || -> i64 { source.say("GET seckill:stock:{m}").parse().expect("a stock") };
    let (before, mover) = (left(), killing.mover);
    let over = wait_for("the end of the move", || {
        let states = mover.states(source);
        let is_over = |state: &String| ["failed", "canceled", "cancelled"].contains(&&**state);
        (states.iter().all(is_over) && left() < before - 100).then_some(())
    });
    over.unwrap_or_else(|late| panic!("{late}: {:?}\n{}", mover.states(source), source.log()));
    killing.stop.store(true, Ordering::Relaxed);
    let out: i64 = killing.sellers.into_iter().map(|one| one.join().expect("a seller")).sum();
    assert_eq!(units_out(source), out);
    // The target's replica has taken over the target's data, and the slot is not part of it.
    let heir = &killing.nodes.servers[killing.target + PRIMARIES];
    heir.until("the promotion", || is_primary(heir));
    assert!(heir.say("SECKILL.TRY m zoe zoe").starts_with("MOVED "));
    // The next attempt moves everything.
    mover.hold_up(source, heir, false);
    mover.move_slot(source, heir, "m");
    assert_eq!(units_out(heir), out);
    assert_eq!(heir.say("SECKILL.TRY m zoe zoe"), "0");
}

#[test]
fn a_source_that_dies_in_the_middle_of_a_move_is_followed_by_its_replica() {
    let Some(mut killing) = half_way() else { return };
    killing.nodes.servers[killing.source].kill9();
    for seller in killing.sellers {
        seller.join().expect("a seller");
    }
    let heir = &killing.nodes.servers[killing.source + PRIMARIES];
    heir.until("the promotion", || is_primary(heir));
    let (target, mover) = (&killing.nodes.servers[killing.target], killing.mover);
    wait_until_served(heir, "m");
    target.until("the target to know the new primary", || {
        target.say("SECKILL.TRY m zoe zoe").starts_with("MOVED ")
    });
    // The failed move leaves nothing behind, and the next one moves everything.
    mover.cancel(heir, target);
    mover.hold_up(heir, target, false);
    wait_until_forgotten(target);
    let out = units_out(heir);
    assert!(out > 0);
    mover.move_slot(heir, target, "m");
    assert_eq!(units_out(target), out);
    assert_eq!(target.say("SECKILL.TRY m zoe zoe"), "0");
}
