//! Slots that leave and arrive key by key: after every step both nodes answer what their keys
//! demand, however often they were tried before.

use super::moving::{Moving, Step, nodes};
use crate::differential::seed;

/// Rules that a voucher may get while its slot moves.
const RULES: &str =
    "'{\"total\":900000,\"begin\":null,\"end\":null,\"limit\":1,\"hold\":null,\"sale\":7}'";

fn walk(moving: &mut Moving<'_>, steps: impl IntoIterator<Item = Step>) {
    for step in steps {
        moving.step(step);
        moving.probe();
    }
}

/// The state of a voucher before its slot moves.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Unmanaged,
    SoldOut,
    /// With units left, and with all eight keys.
    Managed,
    /// With a hold, and nothing released: seven keys.
    Held,
    /// Managed and sold out, with held orders.
    Full,
}

const KINDS: [Kind; 5] = [Kind::Unmanaged, Kind::SoldOut, Kind::Managed, Kind::Held, Kind::Full];

fn make(moving: &mut Moving<'_>, kind: Kind) {
    let commands = match kind {
        Kind::Unmanaged => "SET seckill:stock:V 500, SECKILL.TRY V ann a1",
        Kind::SoldOut => "SET seckill:stock:V 1, SECKILL.TRY V ann a1",
        Kind::Managed => {
            "SECKILL.CREATE V 500 HOLD 900000, SECKILL.TRY V ann a1, SECKILL.TRY V bob b1, \
             SECKILL.CANCEL V bob b1, SECKILL.TRY V eve e1"
        }
        Kind::Held => {
            "SECKILL.CREATE V 500 HOLD 900000, SECKILL.TRY V ann a1, SECKILL.TRY V eve e1"
        }
        Kind::Full => {
            "SECKILL.CREATE V 2 HOLD 900000, SECKILL.TRY V bob b1, SECKILL.CANCEL V bob b1, \
             SECKILL.TRY V ann a1, SECKILL.TRY V eve e1"
        }
    };
    for command in commands.split(", ") {
        moving.step(Step::AtOwner(command.replace('V', &moving.voucher)));
    }
}

/// All keys of the slot, in the order that a number selects.
fn ordered(moving: &Moving<'_>, order: usize) -> Vec<String> {
    let mut keys = moving.keys();
    let count = keys.len();
    match order {
        0 => {}
        1 => keys.reverse(),
        // The stock is last, or first.
        2 => keys.sort_by_key(|key| key.starts_with("seckill:stock")),
        3 => keys.sort_by_key(|key| !key.starts_with("seckill:stock")),
        other => keys.rotate_left(other % count),
    }
    keys
}

/// Away and back, so that each node has owned the whole voucher before.
#[test]
fn a_slot_that_moves_key_by_key_is_seen_as_it_is() {
    let nodes = nodes();
    for (number, kind) in KINDS.into_iter().enumerate() {
        for order in 0..5 {
            for has_own_name in [false, true] {
                let mut moving =
                    Moving::new(&nodes, &format!("{{m{number}-{order}-{has_own_name}}}"));
                make(&mut moving, kind);
                if has_own_name {
                    // With this key the server does not redirect tries.
                    moving.step(Step::AtOwner(format!("SET {} here", moving.voucher)));
                }
                moving.probe();
                for _ in 0..2 {
                    walk(&mut moving, [Step::Begin]);
                    let keys = ordered(&moving, order);
                    walk(&mut moving, keys.into_iter().map(Step::Migrate));
                    // Keys that a sale at the source has made meanwhile.
                    let keys = moving.keys();
                    walk(&mut moving, keys.into_iter().map(Step::Migrate));
                    walk(&mut moving, [Step::Finish]);
                }
                moving.check_holds_open(false);
            }
        }
    }
}

/// The move is cancelled when half of the keys have left, started again, and finished.
#[test]
fn a_move_that_is_broken_off_is_seen_as_it_is() {
    let nodes = nodes();
    for (number, kind) in KINDS.into_iter().enumerate() {
        for order in 0..4 {
            let mut moving = Moving::new(&nodes, &format!("{{b{number}-{order}}}"));
            make(&mut moving, kind);
            moving.probe();
            for _ in 0..2 {
                walk(&mut moving, [Step::Begin]);
                let mut keys = ordered(&moving, order);
                keys.truncate(keys.len() / 2);
                walk(&mut moving, keys.into_iter().map(Step::Migrate));
                // The owner sells what it can with its half of the keys; the rest stays at the
                // target.
                walk(&mut moving, [Step::Abort]);
            }
            walk(&mut moving, [Step::Begin]);
            let keys = moving.keys();
            walk(&mut moving, keys.into_iter().map(Step::Migrate));
            walk(&mut moving, [Step::Finish]);
            moving.check_holds_open(false);
        }
    }
}

/// The source learns from the cluster bus that it has lost the slot, with keys still in it. Redis
/// 7.0 deletes them without an event. Then the slot returns with other contents.
#[test]
fn a_slot_that_is_lost_with_its_keys_is_forgotten() {
    let nodes = nodes();
    let cases = [
        // The number of keys that move, and the commands at the new owner.
        (Kind::Unmanaged, 0, vec!["SET seckill:stock:V 5", "SADD seckill:order:V ann"]),
        (Kind::Unmanaged, 0, vec!["SECKILL.CREATE V 5 HOLD 900000", "SECKILL.TRY V ann a1"]),
        (Kind::Unmanaged, 2, vec!["SET seckill:voucher:V RULES"]),
        (Kind::SoldOut, 1, vec!["SET seckill:stock:V 5"]),
        (Kind::Full, 4, vec!["PING"]),
        (Kind::Held, 0, vec!["SET seckill:stock:V 0", "SET seckill:voucher:V RULES"]),
    ];
    for (number, (kind, count, made)) in cases.into_iter().enumerate() {
        let mut moving = Moving::new(&nodes, &format!("{{l{number}}}"));
        make(&mut moving, kind);
        moving.probe();
        moving.step(Step::Begin);
        let mut keys = ordered(&moving, number % 4);
        keys.truncate(count);
        keys.into_iter().for_each(|key| moving.step(Step::Migrate(key)));
        walk(&mut moving, [Step::Take]);
        for command in made {
            let command = command.replace("RULES", RULES).replace('V', &moving.voucher);
            walk(&mut moving, [Step::AtOwner(command)]);
        }
        walk(&mut moving, [Step::Begin]);
        let keys = ordered(&moving, 3);
        let half = keys.len() / 2;
        walk(&mut moving, keys.into_iter().take(half).map(Step::Migrate));
        // The slot returns with half of its keys.
        walk(&mut moving, [Step::Take]);
        moving.check_holds_open(true);
    }
}

/// The source learns from the cluster bus that it has lost the slot. It forgets the holds when they
/// are due at the latest, and a queue after some seconds.
#[test]
fn holds_of_a_slot_that_was_lost_are_not_tried_for_ever() {
    let nodes = nodes();
    let [source, target] = &nodes;
    let mut moving = Moving::new(&nodes, "{gone}");
    // A queue, beside no hold that is due one day.
    source.check("> SECKILL.CREATE {gone}w 1 HOLD 900000\nOK\n> SECKILL.TRY {gone}w ann a1\n0");
    source.check("> SECKILL.CONFIRM {gone}w ann a1\n1\n> SECKILL.TRY {gone}w bob b1 WAITLIST\n6");
    source.check("> SECKILL.CREATE {gone}v 5 HOLD 1500\nOK\n> SECKILL.TRY {gone}v ann a1\n0");
    let open = || source.info_number("seckill_holds_open");
    source.until("the holds to be known", || open() == 1);
    moving.step(Step::Begin);
    moving.step(Step::Take);
    target.check("> SET seckill:stock:{gone}v 0\nOK\n> SECKILL.TRY {gone}v ann a2\n1");
    source.until("the holds to be forgotten", || open() == 0);
}

/// A key with the voucher's own name keeps tries at the source. Rules that a client sets meanwhile
/// are redirected to the target, because the source has none: a sale that does not see them must
/// wait.
#[test]
fn rules_that_are_made_at_the_target_are_not_passed_over_at_the_source() {
    let nodes = nodes();
    let [source, target] = &nodes;
    let mut moving = Moving::new(&nodes, "{rules}");
    let voucher = moving.voucher.clone();
    // All keys that a sale uses are at the source, and known to be there.
    source.check(&format!("> SET seckill:stock:{voucher} 5\nOK\n> SET {voucher} here\nOK"));
    source.check(&format!("> SECKILL.TRY {voucher} ann a1\n0\n> SECKILL.TRY {voucher} ann a2\n2"));
    moving.step(Step::Begin);
    let over = RULES.replace("\"end\":null", "\"end\":1");
    let rules = format!("SET seckill:voucher:{voucher} {over}");
    source.check(&format!("> {rules}\n(error) ASK ..."));
    target.check(&format!("> ASKING\nOK\n> {rules}\nOK"));
    source.check(&format!("> SECKILL.TRY {voucher} cat c1\n(error) TRYAGAIN ..."));
}

/// A random step that is possible now.
fn random_step(moving: &Moving<'_>, random: &mut fastrand::Rng, takes_left: &mut usize) -> Step {
    let voucher = &moving.voucher;
    let commands = [
        format!("SET seckill:voucher:{voucher} {RULES}"),
        format!("DEL seckill:voucher:{voucher}"),
        format!("SET seckill:stock:{voucher} {}", random.u8(0..3)),
        format!("DEL seckill:stock:{voucher}"),
        format!("SADD seckill:order:{voucher} ann"),
        format!("SREM seckill:order:{voucher} ann"),
        format!("ZADD seckill:hold:{voucher} 5 e1"),
        format!("DEL seckill:hold:{voucher}"),
        format!("SET {voucher} here"),
        format!("DEL {voucher}"),
    ];
    let command = random.choice(commands).expect("one");
    let keys = moving.keys();
    match (moving.is_moving(), random.u8(0..100)) {
        (false, 0..40) => Step::Begin,
        (false, 40..50) => Step::AtOwner(format!("SECKILL.CANCEL {voucher} ann a1")),
        (false, _) => Step::AtOwner(command),
        (true, _) if keys.is_empty() => Step::Finish,
        (true, 0..6) => Step::Abort,
        (true, 6..10) if *takes_left > 0 => {
            *takes_left -= 1;
            Step::Take
        }
        (true, 10..30) => Step::AtTarget(command),
        (true, _) => Step::Migrate(random.choice(keys).expect("one")),
    }
}

/// The source notices only after a while, so this step is rare.
const TAKES: usize = 4;

#[test]
fn random_moves_are_seen_as_they_are() {
    let seed = seed();
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let nodes = nodes();
    let mut takes_left = TAKES;
    for number in 0..12 {
        let mut moving = Moving::new(&nodes, &format!("{{r{number}}}"));
        make(&mut moving, KINDS[number % KINDS.len()]);
        moving.probe();
        for _ in 0..60 {
            let step = random_step(&moving, &mut random, &mut takes_left);
            walk(&mut moving, [step]);
        }
        moving.check_holds_open(takes_left < TAKES);
    }
}
