//! SIGKILL of a primary in the middle of a sale: its replica takes over.

use std::collections::BTreeSet;
use std::thread;

use crate::buyers::{connect, names_in, orders_in};
use crate::harness::{Client, Server};
use crate::nodes::{Nodes, PRIMARIES};

const STOCK: i64 = 3_000;

/// The answers to a connection to the primary until the primary died.
#[derive(Default)]
struct Known {
    accepted: BTreeSet<String>,
    /// Those that the replica has acknowledged.
    safe: BTreeSet<String>,
}

/// Tries for both vouchers until the connection is lost, with a WAIT in each tenth turn.
fn try_until_lost(mut client: Client, name: usize) -> Known {
    let mut known = Known::default();
    for turn in 0.. {
        let user = format!("u{name}-{turn}");
        for voucher in ["m", "{m}b"] {
            let mut command = redis::cmd("SECKILL.TRY");
            match command.arg(voucher).arg(&user).arg(&user).query::<i64>(client.raw()) {
                Ok(0) => drop(known.accepted.insert(format!("{voucher} {user}"))),
                Ok(_) => {}
                Err(_) => return known,
            }
        }
        if turn % 10 == 0 {
            match redis::cmd("WAIT").arg(1).arg(5_000).query::<i64>(client.raw()) {
                Ok(1) => known.safe.clone_from(&known.accepted),
                Ok(_) => {}
                Err(_) => return known,
            }
        }
    }
    known
}

/// Checks that the vouchers' keys agree with each other; returns the buyers.
fn sound(server: &Server) -> BTreeSet<String> {
    let audit = server.audited("m");
    assert_eq!((audit.differences(), audit.number("total")), (Vec::new(), STOCK));
    let left: i64 = server.say("GET seckill:stock:{m}b").parse().expect("a stock");
    let mut all = BTreeSet::new();
    let mut entries = orders_in(server.run("XRANGE stream.orders:{m} - +"));
    for (voucher, buyers) in [("m", "seckill:order:{m}"), ("{m}b", "seckill:order:{m}b")] {
        let buyers = names_in(server.run(&format!("SMEMBERS {buyers}")));
        if voucher == "{m}b" {
            assert_eq!(left + buyers.len() as i64, STOCK, "left and sold of {voucher}");
        }
        all.extend(buyers.into_iter().map(|user| format!("{voucher} {user}")));
    }
    assert_eq!(entries.len(), all.len(), "entries and buyers");
    entries.sort();
    let mut bought: Vec<_> =
        all.iter().filter_map(|bought| Some(bought.split_once(' ')?.1.to_owned())).collect();
    bought.sort();
    assert_eq!(entries, bought);
    all
}

#[test]
fn a_primary_dies_in_the_middle_of_a_sale() {
    let builder = Server::with().config("cluster-node-timeout 2000");
    let builder = builder.config("cluster-replica-validity-factor 0");
    let mut nodes = Nodes::start_with(builder);
    let owner = nodes.owner("m");
    let primary = &nodes.servers[owner];
    primary.run(&format!("SECKILL.CREATE m {STOCK} HOLD 900000"));
    primary.run(&format!("SET seckill:stock:{{m}}b {STOCK}"));
    let threads: Vec<_> = (0..4)
        .map(|name| (name, primary.client()))
        .map(|(name, client)| thread::spawn(move || try_until_lost(client, name)))
        .collect();
    primary.until("a part of the sale", || {
        let left: i64 = primary.say("GET seckill:stock:{m}").parse().expect("a stock");
        left < STOCK - 700
    });
    nodes.servers[owner].kill9();
    let mut known = Known::default();
    for thread in threads {
        let one = thread.join().expect("a connection");
        known.accepted.extend(one.accepted);
        known.safe.extend(one.safe);
    }
    assert!(known.safe.len() > 50, "{} answers waited for", known.safe.len());

    let replica = &nodes.servers[owner + PRIMARIES];
    replica.until("the replica to be promoted", || {
        let is_primary = replica.info("role").as_deref() == Some("master");
        let is_ok = replica.say("CLUSTER INFO").contains("cluster_state:ok");
        is_primary && is_ok
    });
    // Orders that a WAIT has covered are there. The rest may be lost, but only whole commands.
    let bought = sound(replica);
    let lost: Vec<_> = known.safe.difference(&bought).collect();
    assert!(lost.is_empty(), "lost though waited for: {lost:?}");
    let lost = known.accepted.difference(&bought).count();
    println!("{} answers, {} waited for, {lost} lost", known.accepted.len(), known.safe.len());

    // A cluster client finds the new primary, and the sale continues to its end.
    nodes.servers[owner].start_again();
    let mut connection = connect(&nodes);
    let mut outcomes = [0; 3];
    for turn in 0..STOCK + 50 {
        let mut command = redis::cmd("SECKILL.TRY");
        command.arg("{m}b").arg(format!("late{turn}")).arg(format!("late{turn}"));
        let outcome: usize = command.query(&mut connection).expect("an outcome");
        outcomes[outcome] += 1;
    }
    let replica = &nodes.servers[owner + PRIMARIES];
    assert_eq!(replica.say("GET seckill:stock:{m}b"), "0");
    assert!(outcomes[0] > 0 && outcomes[1] >= 50 && outcomes[2] == 0, "{outcomes:?}");
    sound(replica);
    // The old primary returns as a replica of the new one, and has the same data.
    let old = &nodes.servers[owner];
    replica.wait_for_replica(old);
    assert_eq!(old.digest(), replica.digest());
    assert!(old.say("SECKILL.TRY m zoe zoe").starts_with("MOVED "));
}
