//! While a slot moves key by key, no command runs by halves: each is refused until all keys that it
//! needs are on one node. `memory::moves` walks tries through every order of steps.

use crate::cluster::two_nodes;
use crate::harness::Server;
use crate::observe::words;
use crate::reject::deliver;
use crate::slots::Move;
use redis::Value;

/// Commands about the keys of one slot. A key with the name `n` keeps them at the source.
struct Slot {
    name: &'static str,
    made: &'static [&'static str],
    commands: &'static [&'static str],
    /// The keys that move first. After each of them, all commands are refused.
    first: &'static [&'static str],
    /// A key that moves last, and the command that needs it.
    last: (&'static str, &'static str),
    /// What is true once the slot has moved.
    after: &'static str,
}

const MANAGED: Slot = Slot {
    name: "7",
    made: &[
        "SECKILL.CREATE 7 9 LIMIT 3 HOLD 900000",
        "SECKILL.TRY 7 alice o1 UNITS 2",
        "SECKILL.TRY 7 bob o2",
        "SECKILL.CONFIRM 7 bob o2",
        "SECKILL.CANCEL 7 bob o2",
    ],
    commands: &[
        "SECKILL.TRY 7 dan n1",
        "SECKILL.MTRY 7 dan n1 eve n2",
        "SECKILL.CONFIRM 7 alice o1",
        "SECKILL.EXTEND 7 alice o1 9000000",
        "SECKILL.CANCEL 7 alice o1",
        "SECKILL.RESTOCK 7 1",
        "SECKILL.DROP 7 FORCE",
        "SECKILL.AUDIT 7",
        "SECKILL.REJECT stream.orders:{7} g ENTRY",
    ],
    first: &["stream.orders:{7}", "seckill:stock:{7}", "seckill:book:{7}"],
    last: ("stream.orders.confirmed:{7}", "SECKILL.CONFIRM 7 alice o1"),
    after: "
        > SECKILL.TRY 7 dan n1
        0
        > SECKILL.REJECT stream.orders:{7} g ENTRY
        1
        > HGET seckill:book:{7} o1
        rejected:2:0:alice
        ",
};

const UNMANAGED: Slot = Slot {
    name: "8",
    made: &["SET seckill:stock:{8} 9", "SECKILL.TRY 8 alice o1"],
    commands: &[
        "SECKILL.TRY 8 bob o2",
        "SECKILL.MTRY 8 bob o2 cid o3",
        "SECKILL.CANCEL 8 alice o1",
        "SECKILL.CREATE 8 ADOPT",
    ],
    first: &["seckill:order:{8}", "stream.orders:{8}"],
    last: ("seckill:stock:{8}", "SECKILL.TRY 8 bob o2"),
    after: "
        > SECKILL.TRY 8 alice o4
        2
        > SECKILL.TRY 8 bob o2
        0
        > GET seckill:stock:{8}
        7
        ",
};

/// No user gets a second code, and a pool with codes never seems empty.
const POOL: Slot = Slot {
    name: "9",
    made: &["RPUSH seckill:codes:{9} a b c", "SECKILL.DRAW 9 alice"],
    commands: &["SECKILL.DRAW 9 alice", "SECKILL.DRAW 9 bob", "SECKILL.UNDRAW 9 alice"],
    first: &["seckill:winners:{9}"],
    last: ("seckill:codes:{9}", "SECKILL.DRAW 9 bob"),
    after: "
        > SECKILL.DRAW 9 alice
        1) 2
        2) a
        > SECKILL.DRAW 9 bob
        1) 0
        2) b
        ",
};

/// No fencing token is given twice.
const LOCK: Slot = Slot {
    name: "l",
    made: &["LOCK.ACQUIRE {l}ock ann 900000 FENCE", "LOCK.RELEASE {l}ock ann"],
    commands: &["LOCK.ACQUIRE {l}ock bob 900000 FENCE"],
    first: &["{l}ock:fence"],
    last: ("l", "LOCK.ACQUIRE {l}ock bob 900000 FENCE"),
    after: "
        > LOCK.ACQUIRE {l}ock bob 900000 FENCE
        (integer) 1...
        ",
};

fn refused(node: &Server, nodes: [&Server; 2], command: &str) {
    let digests = nodes.map(Server::digest);
    if node.port() == nodes[1].port() {
        node.run("ASKING");
    }
    let reply = node.say(command);
    let is_refused = ["TRYAGAIN ", "ASK "].iter().any(|code| reply.starts_with(code));
    assert!(is_refused, "{command}: {reply}");
    assert_eq!(nodes.map(Server::digest), digests, "{command}: {reply}");
}

#[test]
fn no_command_runs_by_halves_while_its_slot_moves() {
    for slot in [MANAGED, UNMANAGED, POOL, LOCK] {
        let (source, target) = two_nodes();
        slot.made.iter().for_each(|command| drop(source.run(command)));
        let entries = deliver(&source, &format!("stream.orders:{{{}}}", slot.name));
        let entry = entries.first().map_or("5-5", String::as_str);
        source.check(&format!("> SET {} here\nOK", slot.name));
        let moving = Move::begin(&source, &target, slot.name);
        if entry != "5-5" {
            // The dead letters may be on the other node already.
            let reject = format!("SECKILL.REJECT stream.orders:{{{}}} g", slot.name);
            let told = source.say(&format!("{reject} {entry}"));
            assert!(told.starts_with("TRYAGAIN the dead-letter stream"), "{told}");
            source.check(&format!("> {reject} 5-5\n0"));
        }
        for key in slot.first {
            moving.key(key);
            for command in slot.commands {
                for node in [&source, &target] {
                    refused(node, [&source, &target], &command.replace("ENTRY", entry));
                }
            }
        }
        let (last, needs_it) = slot.last;
        let keys = words(source.run("KEYS *"));
        keys.iter().filter(|key| *key != last).for_each(|key| moving.key(key));
        refused(&target, [&source, &target], needs_it);
        moving.key(last);
        moving.end();
        let moved = source.say(slot.commands[0]);
        assert!(moved.starts_with("MOVED "), "{moved}");
        target.check(&slot.after.replace("ENTRY", entry));
        source.check("> DBSIZE\n0");
    }
}

/// The end of a sale releases orders and deletes every key, so it needs to see all of them: else
/// orders would be cancelled, and the sale would go on.
#[test]
fn a_sale_whose_slot_moves_is_dropped_as_a_whole_or_not_at_all() {
    let (source, target) = two_nodes();
    let made = [
        "SECKILL.CREATE V 3 LIMIT 3 HOLD 900000",
        "SECKILL.TRY V alice o1 UNITS 2",
        "SECKILL.TRY V bob o2",
        "SECKILL.CONFIRM V bob o2 REF r2",
        "SECKILL.CANCEL V bob o2",
        "SECKILL.TRY V dan o3",
    ];
    let full = ["SECKILL.TRY V eve o4 WAITLIST", "HSET seckill:outside:{V} o9 1"];
    for (number, commands) in [&made[..], &[&made[..], &full].concat()].into_iter().enumerate() {
        let voucher = format!("v{number}");
        let made = commands.iter().map(|command| command.replace('V', &voucher));
        made.for_each(|command| drop(source.run(&command)));
        let drop = format!("SECKILL.DROP {voucher} FORCE");
        let moving = Move::begin(&source, &target, &voucher);
        let keys = moving.keys();
        assert_eq!(keys.len(), 12 + 2 * number, "{keys:?}");
        for key in &keys {
            // The others have gone, then this one has, too.
            for node in [&source, &target] {
                refused(node, [&source, &target], &drop);
            }
            moving.key(key);
        }
        // A key that never existed could still be at the source; if all do, none can.
        if number == 0 {
            refused(&target, [&source, &target], &drop);
        } else {
            assert_eq!(target.run("ASKING"), Value::Okay);
            assert_eq!(target.say(&drop), "1");
        }
        moving.end();
        assert_eq!(target.say(&drop), if number == 0 { "1" } else { "0" });
    }
}
