//! Shards of a sale that lose everything: what the database has of them stays, what is unsold is on
//! sale again, and no unit more.

use std::process::Command;

use redis::Value;
use seckill_tools::sharding::{shard_of, shard_voucher};

use crate::check::expect;
use crate::databases::Database;
use crate::resolve::CHECK;
use crate::shop::{Shop, databases};
use crate::worker::SHARDS;

const SALE: [&str; 2] = ["--voucher", "7"];

impl Shop {
    pub fn shards(&self, words: &[&str]) -> String {
        let redis = &self.worker_args()[1];
        let ran = Command::new(SHARDS).args(["--redis", redis]).args(SALE).args(words).output();
        let ran = ran.expect("run seckill-shards");
        let said = String::from_utf8([ran.stdout, ran.stderr].concat()).expect("text");
        assert!(ran.status.success(), "{words:?}: {said}");
        said
    }

    /// So many users try at their shard, and pay what is held; the units that they got.
    fn sells(&self, prefix: &str, users: u32) -> i64 {
        let mut sold = 0;
        for number in 0..users {
            let (user, order) = (format!("{prefix}{number}"), format!("{prefix}-{number}"));
            let voucher = shard_voucher("7", shard_of(user.as_bytes(), 4));
            if self.run(&format!("SECKILL.TRY {voucher} {user} {order}")) == Value::Int(0) {
                sold += 1;
                self.run(&format!("SECKILL.CONFIRM {voucher} {user} {order} REF {order}"));
            }
        }
        sold
    }

    /// All keys of a shard are gone, as on a node that comes back empty.
    fn loses_shard(&self, shard: u32) {
        let Value::Array(keys) = self.run(&format!("KEYS *7#{shard}*")) else { panic!("keys") };
        assert!(!keys.is_empty());
        for key in keys {
            self.run(&format!("DEL {}", crate::harness::text(&key)));
        }
    }

    fn units(&self) -> i64 {
        let all = self.database.numbers(["units"], "FROM seckill_orders");
        all.iter().map(|[units]| units).sum()
    }

    fn units_of_shard(&self, shard: u32) -> i64 {
        let rest = format!("FROM seckill_orders WHERE voucher_id = '7#{shard}'");
        self.database.numbers(["units"], &rest).iter().map(|[units]| units).sum()
    }
}

/// The command that ends the line with these words.
fn command<'t>(said: &'t str, words: &str) -> &'t str {
    let line = said.lines().find(|line| line.contains(words));
    let line = line.unwrap_or_else(|| panic!("{words}: {said}"));
    &line[line.rfind(": seckill-").expect("a command") + 2..]
}

/// A shard is lost, kept by one ruling, and opened again with what is unsold.
fn is_lost_and_opened_again(database: Database, lost: u32, rules: &[&str]) {
    let shop = Shop::open(database);
    shop.drain(&[]);
    shop.shards(&[&["open", "--shards", "4", "--stock", "40"], rules].concat());
    let mut sold = shop.sells("w", 30);
    shop.drain(&[]);
    expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
    let of_shard = shop.units_of_shard(lost);
    assert!(of_shard > 0 && sold == 30);

    shop.loses_shard(lost);
    let unsold = 10 - of_shard;
    let line = format!(
        "1. shard {lost} of 4 lost everything: {of_shard} units in the database, at most {unsold} \
         unsold, not on sale: seckill-worker resolve --voucher=7 --shard={lost} "
    );
    expect(&shop, &CHECK, 1, &[&line, "DIFFERENT: 1 questions"]);
    expect(&shop, &[], 1, &[&line]);
    shop.resolves(&["--voucher", "7", "--shard", "9"], 1, &["shard 9 is not lost"]);
    let kept = format!("shard {lost} is kept with {of_shard} units");
    shop.resolves(&["--voucher", "7", "--shard", &lost.to_string()], 0, &[&kept]);
    assert_eq!(shop.units(), sold);

    let result = format!(
        "shard {lost} of 4 of voucher 7 is not on sale, its part of the unsold units is \
                          at most {unsold}: "
    );
    let said = expect(&shop, &CHECK, 0, &[&result, "\nCONSISTENT: "]);
    shop.pasted(command(&said, "is not on sale"));
    sold += shop.sells("x", 400);
    shop.shards(&["level", "--once"]);
    sold += shop.sells("y", 400);
    shop.drain(&[]);
    assert_eq!((sold, shop.units()), (40, 40));
    expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
}

#[test]
fn a_lost_shard_is_kept_and_its_unsold_units_are_on_sale_again() {
    for database in databases() {
        is_lost_and_opened_again(database, 0, &["--managed"]);
    }
    is_lost_and_opened_again(Database::sqlite(), 2, &["--managed", "--hold", "10m"]);
    is_lost_and_opened_again(Database::sqlite(), 2, &[]);
}

/// Rules about a shard that is off sale, and puts the rest on sale, by what the checks print.
fn opened_again(shop: &Shop, loss: &str) {
    let said = expect(shop, &CHECK, 1, &[loss]);
    shop.pasted(command(&said, "lost everything"));
    let said = expect(shop, &CHECK, 0, &["is not on sale", "\nCONSISTENT: "]);
    shop.pasted(command(&said, "is not on sale"));
}

/// Sells all that is left on any shard: the units of all orders in the database.
fn sold_out(shop: &Shop) -> i64 {
    for prefix in ["x", "y", "z"] {
        shop.sells(prefix, 400);
        shop.shards(&["level", "--once"]);
    }
    shop.drain(&[]);
    shop.units()
}

/// A shard that lost one key goes off sale, then every entry is read, and only then does a check
/// say what is unsold.
fn lost_one_key(kind: &str, rules: &[&str]) {
    let shop = Shop::open(Database::sqlite());
    shop.drain(&[]);
    shop.shards(&[&["open", "--shards", "4", "--stock", "40"], rules].concat());
    shop.sells("w", 20);
    shop.drain(&[]);
    let key = format!("seckill:{kind}:7#1");
    let key = if kind == "shard" { "seckill:shard:{7#1}" } else { &*key };
    assert_eq!(shop.run(&format!("DEL {key}")), Value::Int(1));
    // Some others buy before anybody looks. A book that is begun anew is compared order by order.
    let sells = kind != "stock" && kind != "book";
    if sells {
        for user in (0..8).map(|it| format!("late{it}")) {
            let voucher = shard_voucher("7", shard_of(user.as_bytes(), 4));
            shop.run(&format!("SECKILL.TRY {voucher} {user} {user}"));
        }
    }
    let says = "1. shard 1 of 4 lost ";
    let off = "what is left of it may be on sale: seckill-shards ";
    let said = expect(&shop, &CHECK, 1, &[says, key, off, "DIFFERENT: 1 questions"]);
    let first = ["first run seckill-shards drop --shard 1"];
    shop.resolves(&["--voucher", "7", "--shard", "1"], 1, &first);
    shop.pasted(command(&said, says));
    if sells {
        let unread = expect(&shop, &CHECK, 3, &["entries of voucher 7#1 are not read"]);
        assert!(!unread.contains("--shard"), "{unread}");
    }
    shop.drain(&[]);
    opened_again(&shop, "1. shard 1 of 4 lost everything: ");
    assert_eq!(sold_out(&shop), 40, "{key} {rules:?}");
    expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
}

#[test]
fn a_shard_that_lost_one_key_goes_off_sale_and_every_entry_is_read() {
    for (kind, rules) in [
        ("stock", &["--managed"][..]),
        ("shard", &["--managed"]),
        // It sells as an unmanaged voucher meanwhile.
        ("voucher", &["--managed"]),
        ("book", &["--managed", "--hold", "10m"]),
        ("stock", &[]),
        ("order", &[]),
    ] {
        lost_one_key(kind, rules);
    }
}

/// What is unsold of two lost shards is printed once, for both together.
#[test]
fn two_lost_shards_are_on_sale_again_with_what_is_unsold_of_both() {
    let shop = Shop::open(Database::sqlite());
    shop.drain(&[]);
    shop.shards(&["open", "--shards", "4", "--stock", "40", "--managed"]);
    shop.sells("w", 23);
    shop.drain(&[]);
    [0, 2].into_iter().for_each(|shard| shop.loses_shard(shard));
    for _ in 0..2 {
        let said = expect(&shop, &CHECK, 1, &["lost everything"]);
        shop.pasted(command(&said, "lost everything"));
    }
    let said = expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("is not on sale")).collect();
    assert_eq!(lines.len(), 2, "{said}");
    for line in lines {
        shop.pasted(command(line, "is not on sale"));
    }
    assert_eq!(sold_out(&shop), 40);
}

/// Losses one after the other, of other shards and of the same: what a lost shard had sold that is
/// open again stays sold.
#[test]
fn a_second_loss_sells_no_unit_of_the_first_again() {
    for rules in [&["--managed"][..], &[]] {
        let shop = Shop::open(Database::sqlite());
        shop.drain(&[]);
        shop.shards(&[&["open", "--shards", "4", "--stock", "40"], rules].concat());
        for (round, lost) in [1, 2, 1].into_iter().enumerate() {
            shop.sells(&format!("w{round}-"), 8);
            shop.drain(&[]);
            shop.loses_shard(lost);
            opened_again(&shop, &format!("shard {lost} of 4 lost everything"));
        }
        assert_eq!(sold_out(&shop), 40, "{rules:?}");
    }
}

/// Units that a cancellation took off a shard before it was lost, or RESTOCK off another, are not
/// those of a lost shard.
#[test]
fn units_withdrawn_before_a_loss_are_not_on_sale_again() {
    let shop = Shop::open(Database::sqlite());
    shop.drain(&[]);
    shop.shards(&["open", "--shards", "4", "--stock", "40", "--managed"]);
    for (round, lost) in [1, 2, 1].into_iter().enumerate() {
        shop.sells(&format!("w{round}-"), 8);
        let user = (0..)
            .map(|it| format!("v{round}-{it}"))
            .find(|it| shard_of(it.as_bytes(), 4) == lost)
            .expect("a user");
        assert_eq!(shop.run(&format!("SECKILL.TRY 7#{lost} {user} {user}")), Value::Int(0));
        let cancelled = format!("SECKILL.CANCEL 7#{lost} {user} {user} NORESTOCK");
        assert_eq!(shop.run(&cancelled), Value::Int(1));
        assert!(matches!(shop.run("SECKILL.RESTOCK 7#0 -1"), Value::Int(_)));
        shop.drain(&[]);
        shop.loses_shard(lost);
        opened_again(&shop, &format!("shard {lost} of 4 lost everything"));
    }
    assert_eq!(sold_out(&shop), 40 - 3 - 3);
    expect(&shop, &CHECK, 0, &["\nCONSISTENT: "]);
}

/// Nobody can pay what a lost shard held.
#[test]
fn held_orders_of_a_lost_shard_end_by_the_ruling() {
    let shop = Shop::open(Database::sqlite());
    shop.drain(&[]);
    shop.shards(&["open", "--shards", "4", "--stock", "40", "--managed", "--hold", "10m"]);
    let users: Vec<String> = (0..)
        .map(|it| format!("u{it}"))
        .filter(|it| shard_of(it.as_bytes(), 4) == 1)
        .take(3)
        .collect();
    for user in &users {
        shop.run(&format!("SECKILL.TRY 7#1 {user} {user}"));
    }
    shop.pay(&format!("7#1 {0} {0}", users[0]), "A", 1);
    shop.drain(&[]);
    shop.loses_shard(1);
    let said = expect(&shop, &CHECK, 1, &["3 units in the database, at most 7 unsold"]);
    let said = shop.pasted(command(&said, "lost everything"));
    assert!(said.contains("- 2 of these orders are held: they end"), "{said}");
    let mut states: Vec<String> = shop.rows().into_values().map(|row| row.state).collect();
    states.sort();
    assert_eq!(states, ["expired", "expired", "sold"]);
    expect(&shop, &CHECK, 0, &["the unsold units is at most 9: ", "\nCONSISTENT: "]);
}

/// Without any journal the shards that the database has are compared.
#[test]
fn a_sale_that_lost_all_its_shards_is_not_unknown() {
    let shop = Shop::open(Database::sqlite());
    shop.drain(&[]);
    shop.shards(&["open", "--shards", "4", "--stock", "40", "--managed"]);
    shop.sells("w", 30);
    shop.drain(&[]);
    (0..4).for_each(|shard| shop.loses_shard(shard));
    for shard in 0..4 {
        expect(&shop, &CHECK, 3, &[&format!("of voucher 7#{shard} is not on the server")]);
    }
}
