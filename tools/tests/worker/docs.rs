//! The worker's page agrees with the program's own output.

use std::collections::{BTreeMap, BTreeSet};

use kit::pages::{check_help, check_options, options, page};
use redis::Value;

use crate::databases::Kind;
use crate::shop::{Shop, databases};
use crate::statements::documented;

/// The user on the page has all the rights that it needs.
#[test]
fn the_user_of_the_page_has_the_rights_that_it_takes() {
    let page = page("docs/SECURITY.md");
    let line = page.lines().find(|line| line.starts_with("ACL SETUSER seckill-worker on "));
    let rights = line.expect("a user").split(" >change-me-8 ").nth(1).expect("rights");
    let shop = Shop::of("phone 5, tea 5 HOLD 60000");
    shop.buy("phone", "ann", "o1");
    shop.buy("phone", "ben", "o2");
    shop.buy("tea", "ann", "o3");
    shop.run("XADD stream.orders * strange entry");
    shop.run("ACL SETUSER admin on nopass ~* &* +@all");
    shop.run("AUTH admin x");
    shop.run(&format!("ACL SETUSER default reset on nopass {rights}"));
    let summary = shop.drain(&["--trim-after", "1ms"]);
    assert_eq!(summary["orders"], 4, "{summary}");
    assert_eq!(shop.run("XLEN stream.orders.dlq"), Value::Int(1));
    assert_eq!(shop.run("ACL LOG"), Value::Array(Vec::new()));
}

/// The SQL of the page about the cut-over: who cancelled may buy again, nobody else may.
#[test]
fn the_indexes_of_the_page_let_users_buy_again() {
    let page = page("docs/cut-over.md");
    let blocks: Vec<&str> = page.split("```sql\n").skip(1).collect();
    let block = |number: usize| blocks[number].split("```").next().expect("its end");
    for database in databases().filter(|database| database.kind != Kind::Sqlite) {
        let mut shop = Shop::open(database);
        let file = shop.with_statements(&[(1, 9)], &documented(shop.database.kind));
        let sql = match shop.database.kind {
            Kind::Postgres => {
                let constraint = "CONSTRAINT uk_user_voucher UNIQUE (user_id, voucher_id)";
                shop.sql(&format!("ALTER TABLE tb_voucher_order ADD {constraint}"));
                block(0)
            }
            _ => {
                let index = "UNIQUE INDEX uk_user_voucher (user_id, voucher_id)";
                shop.sql(&format!("ALTER TABLE tb_voucher_order ADD {index}"));
                block(1)
            }
        };
        let statements = sql.split(";\n").map(|part| part.trim()).filter(|part| !part.is_empty());
        statements.for_each(|statement| shop.sql(statement));
        shop.sell("1", 9);
        shop.buy("1", "501", "1001");
        shop.drain(&["--statements", &file]);
        shop.run("SECKILL.CANCEL 1 501 1001");
        shop.buy("1", "501", "1002");
        shop.drain(&["--statements", &file]);
        assert_eq!(shop.shop_orders(), BTreeMap::from([(1001, 4), (1002, 2)]));
        let second = "INSERT INTO tb_voucher_order (id, user_id, voucher_id, status) \
                      VALUES (7, 501, 1, 2)";
        assert!(shop.database.try_rows(second).is_err());
    }
}

/// A group of its own, from now on; and the shop's group taken over with what is pending.
#[test]
fn a_running_consumer_is_replaced_as_the_page_says() {
    let commands = page("docs/cut-over.md");
    let commands = commands.lines().filter(|line| line.starts_with("XGROUP CREATE stream."));
    let commands: Vec<&str> = commands.take(3).collect();
    let shop = Shop::of("phone 50");
    shop.buy("phone", "old", "o1");
    commands.iter().for_each(|command| _ = shop.run(command));
    shop.buy("phone", "new", "o2");
    shop.drain(&[]);
    assert_eq!((shop.row_count(), shop.accepted_count()), (1, 2));
    // The other way: entries that the shop's consumer had, and those that it had not.
    let shop = Shop::of("phone 50");
    shop.buy_many("phone", 0..6);
    shop.run("XGROUP CREATE stream.orders g1 0");
    shop.run("XREADGROUP GROUP g1 c1 COUNT 4 STREAMS stream.orders >");
    let done = &crate::shop::entries(&shop.server, "stream.orders")[0].0;
    shop.run(&format!("XACK stream.orders g1 {done}"));
    shop.drain(&["--group", "g1"]);
    assert_eq!(shop.row_count(), 5);
    assert_eq!(shop.group("stream.orders", "g1").expect("g1")["pending"], "0");
    // And back: the shop's consumer goes on where the worker stopped.
    shop.buy("phone", "u6", "o6");
    let read = shop.run("XREADGROUP GROUP g1 c1 COUNT 9 STREAMS stream.orders >");
    let Value::Array(streams) = read else { panic!("{read:?}") };
    assert_eq!(streams.len(), 1);
}

#[test]
fn the_page_lists_every_option_at_its_default() {
    check_options(env!("CARGO_BIN_EXE_seckill-worker"), "docs/worker-reference.md");
}

/// What the page says that each command takes is what its help says.
#[test]
fn the_page_lists_the_options_of_each_command() {
    let (program, page) = (env!("CARGO_BIN_EXE_seckill-worker"), page("docs/worker-reference.md"));
    let named = |text: &str| -> BTreeSet<String> {
        let spans = text.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
        spans.filter(|word| word.starts_with("--")).map(str::to_owned).collect()
    };
    let all = page.split("every command has ").nth(1).expect("the common ones");
    let all = named(all.split("\n\n").next().expect("a paragraph"));
    for command in ["check", "resolve", "dead-letter"] {
        check_help(program, Some(command));
        let own = page.lines().filter(|line| line.starts_with(&format!("| `{command} ")));
        let others = page.lines().filter(|line| line.starts_with(&format!("| [`{command}`]")));
        let listed = own.chain(others).flat_map(|line| {
            named(line.split(" | ").take(2).collect::<Vec<_>>().join(" ").as_str())
        });
        let listed: BTreeSet<_> = listed.chain(all.clone()).collect();
        let has = options(program, Some(command)).into_iter().map(|(name, _)| name);
        assert_eq!(listed, has.collect(), "{command}");
    }
}
