//! A shard that has lost a key, or everything: told of, never put on sale again as it was, and
//! opened again with what the rows leave of it.

use redis::Value;

use crate::shop::Shop;

/// All keys of a shard are gone, as on a node that comes back empty.
fn lose(shop: &Shop, shard: u32) {
    let Value::Array(keys) = shop.ask(&format!("KEYS *{{7#{shard}}}")) else { panic!("keys") };
    assert!(!keys.is_empty());
    for key in keys {
        shop.ask(&format!("DEL {}", crate::harness::text(&key)));
    }
}

/// What a command that may not be carried out prints, and how it exits.
fn refused(shop: &Shop, words: &str, code: i32) -> String {
    let output = shop.start(words, None).output();
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(code), "{words}: {told}");
    told
}

/// So many users try once each.
fn try_all(shop: &Shop, prefix: &str, users: u32) {
    for user in 0..users {
        shop.try_as(&format!("{prefix}{user}"));
    }
}

/// The units that are sold, over all shards.
fn sold(shop: &Shop) -> i64 {
    (0..shop.shards).map(|it| shop.number(&format!("SCARD seckill:order:{{7#{it}}}"))).sum()
}

#[test]
fn a_lost_shard_is_never_put_on_sale_again_as_it_was() {
    for lost in [0, 2] {
        for shop in Shop::of_both_kinds(4, 40) {
            // Every shard sells some of its ten units.
            try_all(&shop, "w", 40);
            let before = sold(&shop);
            let gone = shop.number(&format!("SCARD seckill:order:{{7#{lost}}}"));
            assert!(gone > 0);
            lose(&shop, lost);
            let sentence = format!("shard {lost} of 4 lost everything");
            let shown = refused(&shop, "show", 1);
            assert!(shown.contains(&format!("WRONG: {sentence}")), "{shown}");
            assert!(shown.contains("At most 10 units are unsold"), "{shown}");
            for (words, code) in [
                (shop.opening().as_str(), 2),
                ("open --shards 1 --stock 9", 2),
                ("level --once", 1),
                ("finish", 1),
                ("move --from 1 --to 3 --units 1", 1),
                (&format!("move --from 1 --to {lost} --units 1"), 1),
            ] {
                let told = refused(&shop, words, code);
                let told_of =
                    if code == 2 && words.contains(" 9") { "with 4 shards" } else { &sentence };
                assert_eq!(told.matches(told_of).count(), 1, "{words}: {told}");
            }
            assert_eq!(shop.left(lost), 0);

            // The rows have what it had sold; the rest is put on sale again, and no unit more.
            let unsold = 10 - gone;
            let reopen = |units: i64| format!("reopen --shard {lost} --units {units}");
            assert!(refused(&shop, &reopen(11), 2).contains("at most 10 units"));
            let told = format!("opened shard {lost} again with {unsold} units\n");
            assert_eq!(shop.run(&reopen(unsold)), told);
            assert!(refused(&shop, &reopen(unsold), 2).contains("has lost nothing"));
            assert!(refused(&shop, "reopen --shard 1 --units 1", 2).contains("has lost nothing"));
            try_all(&shop, "u", 400);
            shop.run("level --once");
            try_all(&shop, "x", 400);
            assert_eq!(sold(&shop) + gone, 40, "{before} were sold before");
            shop.run("drop");
        }
    }
}

/// Units of orders, by the entries of a shard: as the rows of a worker that has read them all.
fn rows(shop: &Shop, shard: u32) -> i64 {
    shop.number(&format!("XLEN stream.orders:{{7#{shard}}}"))
}

/// Whichever key is gone, and whatever was sold before anybody looked: no unit is sold twice.
#[test]
fn a_shard_that_has_lost_one_key_is_lost() {
    let both = ["stock", "order", "shard"].map(|kind| [(false, kind), (true, kind)]);
    let managed = [(true, "voucher"), (true, "book")];
    for (is_managed, kind) in both.into_iter().flatten().chain(managed) {
        let shop = Shop::open(4, 40, is_managed);
        shop.run("move --from 1 --to 2 --units 1");
        try_all(&shop, "w", 20);
        let lost = format!("seckill:{kind}:{{7#1}}");
        assert_eq!(shop.number(&format!("DEL {lost}")), 1);
        let line = format!("shard 1 of 4 lost {lost}, and is never put on sale again as it was");
        let first = refused(&shop, "show", 1);
        assert!(first.contains(&format!("WRONG: {line}")), "{first}");
        assert!(first.contains("At most 9 units are unsold"), "{first}");
        for (words, code) in [
            (shop.opening().as_str(), 2),
            ("level --once", 1),
            ("finish", 1),
            ("move --from 0 --to 3 --units 1", 1),
        ] {
            assert!(refused(&shop, words, code).contains(&line), "{words}");
        }
        let early = refused(&shop, "reopen --shard 1 --units 1", 2);
        assert!(early.contains("first run seckill-shards drop --shard 1"), "{early}");
        assert!(refused(&shop, "drop --shard 0", 2).contains("has lost nothing"));

        // Some others buy before somebody looks.
        for user in 0..3 {
            shop.ask(&format!("SECKILL.TRY 7#1 late{user} late{user}"));
        }
        if is_managed && ["order", "book"].contains(&kind) {
            // It is there again, and SECKILL.AUDIT compares it with the others.
            shop.ask(&format!("DEL {lost}"));
        }
        assert!(refused(&shop, "show", 1).contains("WRONG: shard 1 of 4 lost "), "{lost}");
        assert_eq!(shop.run("drop --shard 1"), "dropped what was left of shard 1\n");
        let shown = refused(&shop, "show", 1);
        assert!(shown.contains("shard 1 of 4 lost everything, "), "{shown}");
        assert!(shown.contains("At most 9 units are unsold"), "{shown}");
        shop.run(&format!("reopen --shard 1 --units {}", 9 - rows(&shop, 1)));
        for prefix in ["u", "x", "y"] {
            try_all(&shop, prefix, 400);
            shop.run("level --once");
        }
        let sold: i64 = (0..4).map(|shard| rows(&shop, shard)).sum();
        assert_eq!(sold, 40, "{lost}, managed {is_managed}");
    }
}

/// Held orders of a lost shard are released, as far as its book has them.
#[test]
fn what_a_lost_shard_holds_is_released_with_it() {
    let shop = Shop { stock: 300, ..Shop::open(2, 2, true) };
    shop.run("drop");
    shop.run("open --shards 2 --stock 300 --managed --hold 15m");
    // More orders than one call of SECKILL.DROP releases.
    for user in 0..120 {
        assert_eq!(shop.number(&format!("SECKILL.TRY 7#1 u{user} o{user}")), 0);
    }
    shop.ask("DEL seckill:shard:{7#1}");
    shop.run("drop --shard 1");
    assert_eq!(shop.number("XLEN stream.orders.released:{7#1}"), 120);
    shop.run("reopen --shard 1 --units 150");
    assert!(shop.run("show").contains("   all        300"));
}

/// What was on its way to a lost shard, or from it, exists once when it is open again.
#[test]
fn moves_of_a_lost_shard_are_not_carried_out_twice() {
    for shop in Shop::of_both_kinds(3, 30) {
        // 4 units from 0 to 1 that have arrived there, though 0 doesn't know; 2 have left 1 for 2.
        shop.start("move --from 0 --to 1 --units 4", Some(4)).output();
        let late = shop.start("move --from 1 --to 2 --units 2", Some(2)).output();
        assert!(late.status.code().is_none(), "{late:?}");
        lose(&shop, 1);
        let shown = refused(&shop, "show", 1);
        assert!(shown.contains("At most 14 units are unsold"), "{shown}");
        shop.run("reopen --shard 1 --units 14");
        shop.run("finish");
        shop.check_finished();
        assert_eq!([0, 1, 2].map(|shard| shop.left(shard)), [6, 14, 10]);
        shop.run("move --from 1 --to 2 --units 3");
        shop.check_finished();
        assert_eq!([0, 1, 2].map(|shard| shop.left(shard)), [6, 11, 13]);
    }
}

/// A sale with a lost shard can be dropped as any other.
#[test]
fn a_sale_with_a_lost_shard_is_dropped() {
    for lost in [0, 1] {
        for shop in Shop::of_both_kinds(3, 9) {
            lose(&shop, lost);
            assert_eq!(shop.run("drop"), "dropped 2 shards\n");
            shop.assert_gone();
            assert_eq!(shop.run(&shop.opening()), "opened 3 of 3 shards\n");
        }
    }
}

/// All sold: the shard is there again, so that buyers are told so.
#[test]
fn a_lost_shard_may_have_nothing_left() {
    for shop in Shop::of_both_kinds(2, 2) {
        lose(&shop, 1);
        shop.run("reopen --shard 1 --units 0");
        assert_eq!(shop.number("SECKILL.TRY 7#1 ann o1"), 1);
        shop.run("show");
    }
}
