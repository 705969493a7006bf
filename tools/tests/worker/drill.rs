//! The drill: something is lost in the middle of a sale, and then an operator answers what a check
//! asks, by any answer, until it asks nothing.
//!
//! At its end the test counts by itself, from the answers that the payment provider got: each unit
//! paid is kept, on a line, or refunded elsewhere, once; the shop's tables are as the rows; and
//! SECKILL.AUDIT finds nothing.

use std::collections::BTreeMap;
use std::fs;
use std::panic::catch_unwind;

use kit::declared::texts;
use redis::Value;

use crate::databases::{Database, Kind};
use crate::harness::{Server, side_by_side};
use crate::shop::{GROUP, STREAMS, Shop, pairs, random};
use crate::statements::documented;

mod audits;
mod losses;
mod operator;

use losses::{Copy, LOSSES, Loss, What};
use operator::Results;

/// Two sales, whose articles may be in one cart; or two shards of one sale.
const VOUCHERS: [&str; 2] = ["7", "8"];
const SHARDS: [&str; 2] = ["7#0", "7#1"];
/// What a sale has at first.
const UNITS: i64 = 8;
/// The shop's own stock never decides: more than a sale can take.
const SHOP_STOCK: i64 = 1_000;
const COMMANDS: u32 = 24;
const AT_ONCE: usize = 5;

/// What a customer has asked for: one article, or a cart of both.
#[derive(Clone, Debug)]
struct Order {
    user: u32,
    /// After a loss another customer's, too.
    id: usize,
    vouchers: Vec<&'static str>,
}

/// A payment, as the provider has it.
#[derive(Clone, Debug, Default)]
struct Paid {
    user: u32,
    id: usize,
    /// Units that were paid, by voucher.
    articles: Vec<(&'static str, i64)>,
    /// Units that were paid back without a line.
    back: i64,
}

impl Paid {
    fn units(&self) -> i64 {
        self.articles.iter().map(|(_, units)| units).sum()
    }
}

struct Drill {
    shop: Shop,
    loss: Loss,
    random: fastrand::Rng,
    /// Of a hold, in milliseconds.
    hold: u32,
    statements: String,
    orders: Vec<Order>,
    payments: BTreeMap<String, Paid>,
    /// To what the server returns, and after how many answers; 0 if it doesn't.
    copy: Option<Copy>,
    returns_after: u32,
    /// The worker's next run must see that the server has lost something.
    is_to_be_seen: bool,
}

impl Drill {
    fn open(kind: Kind, loss: Loss, mut random: fastrand::Rng) -> Option<Self> {
        let server = match loss.what {
            What::Log => Server::with().aof().port().start(),
            _ => Server::with().port().start(),
        };
        let shop = Shop::on(server, Database::open(kind)?, &[""]);
        // Holds of some sales end before the operator looks.
        let hold = random.choice([600_000, 600_000, 1_500]).expect("one");
        let mut drill = Self {
            shop,
            loss,
            random,
            hold,
            statements: String::new(),
            orders: Vec::new(),
            payments: BTreeMap::new(),
            copy: None,
            returns_after: 0,
            is_to_be_seen: false,
        };
        drill.statements = drill.shop.with_statements(&drill.stocks(), &drill.file());
        // A cart is an order of each of its vouchers.
        drill.shop.sql("DROP TABLE tb_voucher_order");
        drill.shop.sql(
            "CREATE TABLE tb_voucher_order (id BIGINT, user_id BIGINT, voucher_id BIGINT, \
             status INT, PRIMARY KEY (id, user_id, voucher_id))",
        );
        if loss.what == What::Shard {
            let hold = format!("{hold}ms");
            let rules = ["--stock", "16", "--managed", "--limit", "6", "--hold", &hold];
            drill.shop.shards(&[&["open", "--shards", "2"], &rules[..]].concat());
        } else {
            VOUCHERS.into_iter().for_each(|voucher| drill.opens(voucher, UNITS));
        }
        drill.drain();
        Some(drill)
    }

    fn vouchers(&self) -> [&'static str; 2] {
        if self.loss.what == What::Shard { SHARDS } else { VOUCHERS }
    }

    /// The shop's own stock of each article.
    fn stocks(&self) -> [(u32, i64); 2] {
        self.vouchers().map(|it| (it.replace('#', "").parse().expect("a number"), SHOP_STOCK))
    }

    fn opens(&self, voucher: &str, units: i64) {
        let rules = format!("HOLD {} LIMIT 6", self.hold);
        let opened = self.client(&format!("SECKILL.CREATE {voucher} {units} {rules}"));
        assert_eq!(opened, Value::Okay);
    }

    /// The documented statements, for orders with several vouchers, and ids of several users.
    fn file(&self) -> String {
        let file = documented(self.shop.database.kind);
        let cast = file.contains("CAST(:voucher_id AS BIGINT)");
        let [user, voucher] = [":user_id", ":voucher_id"]
            .map(|name| if cast { format!("CAST({name} AS BIGINT)") } else { name.to_owned() });
        let whose = format!("WHERE voucher_id = {voucher} AND user_id = {user} AND id = ");
        let file = file.replace("WHERE id = ", &whose);
        // The shop's vouchers are numbers, and a shard is none.
        match self.loss.what {
            What::Shard => file.replace(":voucher_id", "REPLACE(:voucher_id, '#', '')"),
            _ => file,
        }
    }

    /// The worker runs until nothing is left to do.
    fn drain(&mut self) {
        let mut worker = self.shop.once(&["--statements", &self.statements]);
        let status = worker.ended();
        println!("worker --once: {status}\n{}", worker.log());
        assert!(!worker.log().contains(" panicked at "), "its own end is no accident");
        if std::mem::take(&mut self.is_to_be_seen) {
            assert!(worker.log().contains(" is to be checked"), "the loss was not seen");
        }
    }

    /// A client's command. Each step is printed: a failed round is read from that.
    fn client(&self, command: &str) -> Value {
        let answer = self.shop.run(command);
        println!("{command}: {answer:?}");
        answer
    }

    /// A buyer, the payment service or the shop's staff.
    fn command(&mut self) {
        if self.orders.is_empty() || self.random.u32(0..10) < 4 {
            let [first, second] = self.vouchers();
            let vouchers = match self.random.u32(0..4) {
                0 => vec![second],
                1 => vec![first, second],
                _ => vec![first],
            };
            let at = self.orders.len();
            let is_given_again = at > 0 && self.random.u32(0..6) == 0;
            let id = if is_given_again { self.random.usize(0..at) } else { at };
            self.orders.push(Order { user: self.random.u32(1..30), id: 1_000 + id, vouchers });
            self.buy(at);
            return;
        }
        let at = self.random.usize(0..self.orders.len());
        let Order { user, id, vouchers } = &self.orders[at];
        let voucher = *self.random.choice(vouchers).expect("one");
        let order = format!("{voucher} {user} {id}");
        let kept = if self.random.bool() { " KEEP 1" } else { "" };
        match self.random.u32(0..14) {
            0 => _ = self.client(&format!("SECKILL.CANCEL {order}{kept}")),
            1 => _ = self.client(&format!("SECKILL.CANCEL {order}{kept} NORESTOCK")),
            2 => self.refund(voucher, at, kept),
            3 => self.buy(at),
            4 => _ = self.client(&format!("SECKILL.EXTEND {order} 600000")),
            5 => {
                let units = self.random.i32(-1..3);
                self.client(&format!("SECKILL.RESTOCK {voucher} {units}"));
            }
            more => self.pay(at, if more == 6 { "b" } else { "" }),
        }
    }

    fn buy(&mut self, at: usize) {
        let Order { user, id, vouchers } = self.orders[at].clone();
        let [first, second] = [0, 0].map(|_| self.random.u32(1..4));
        match vouchers[..] {
            [one] => self.client(&format!("SECKILL.TRY {one} {user} {id} UNITS {first}")),
            _ => {
                let [one, other] = self.vouchers();
                self.client(&format!("SECKILL.TRYALL {one} {first} {other} {second} {user} {id}"))
            }
        };
    }

    fn order(&self, voucher: &str, id: usize) -> Option<BTreeMap<String, String>> {
        match self.shop.run(&format!("SECKILL.ORDER {voucher} {id}")) {
            order @ Value::Array(_) => Some(pairs(order)),
            _ => None,
        }
    }

    /// The shop's staff refunds units at the provider, and says so.
    fn refund(&mut self, voucher: &str, at: usize, kept: &str) {
        let Order { user, id, .. } = self.orders[at];
        let Some(order) = self.order(voucher, id) else { return };
        let answer = self.client(&format!("SECKILL.CANCEL {voucher} {user} {id}{kept} REFUNDED"));
        if answer == Value::Int(1) {
            let units: i64 = order["units"].parse().expect("units");
            let paid = self.payments.get_mut(&order["ref"]).expect("its payment");
            paid.back += units - i64::from(!kept.is_empty());
        }
    }

    /// The customer pays for what the order has; a known payment is sent again.
    fn pay(&mut self, at: usize, more: &str) {
        let reference = format!("p{at}{more}");
        if !self.payments.contains_key(&reference) {
            let Order { user, id, vouchers } = &self.orders[at];
            let articles = vouchers.iter().filter_map(|voucher| {
                let order = self.order(voucher, *id)?;
                let is_its = order["user"] == user.to_string();
                is_its.then(|| (*voucher, order["units"].parse().expect("units")))
            });
            let articles: Vec<_> = articles.collect();
            if articles.is_empty() {
                return;
            }
            let paid = Paid { user: *user, id: *id, articles, back: 0 };
            self.payments.insert(reference.clone(), paid);
        }
        self.confirm(&reference);
    }

    /// Sends each CONFIRM of a payment. True if one was not answered 0.
    fn confirm(&self, reference: &str) -> bool {
        let Paid { user, id, articles, .. } = &self.payments[reference];
        let sent: Vec<Value> = articles
            .iter()
            .map(|(voucher, units)| {
                let order = format!("{voucher} {user} {id}");
                self.client(&format!("SECKILL.CONFIRM {order} REF {reference} UNITS {units}"))
            })
            .collect();
        sent.iter().any(|answer| !matches!(answer, Value::Int(0)))
    }

    fn sell(&mut self) {
        for _ in 0..COMMANDS {
            self.command();
            if self.random.u32(0..6) == 0 {
                self.drain();
            }
        }
    }

    /// Clients that got no answer repeat what they sent.
    fn repeat(&mut self) {
        let mut sent: Vec<String> = self.payments.keys().cloned().collect();
        sent.retain(|_| self.random.bool());
        for reference in &sent {
            self.confirm(reference);
        }
    }

    /// The provider's list.
    fn list(&self) -> String {
        let path = self.shop.server.dir().join("provider.csv");
        let lines = self.payments.iter().map(|(reference, paid)| {
            let refunded = paid.back + self.shop.refunds(reference);
            format!("{reference},{},{refunded}\n", paid.units())
        });
        let text = format!("ref,units,refunded\n{}", lines.collect::<String>());
        fs::write(&path, text).expect("write the list");
        path.to_str().expect("a path").to_owned()
    }

    /// What is true at the end, counted without the worker's own sums.
    fn count(&self, Results { beyond, oversold }: &Results) {
        let rows = "FROM seckill_orders WHERE state = 'sold'";
        let kept = self.shop.database.texts(["COALESCE(ref, '')", "units"], rows);
        for (reference, paid) in &self.payments {
            let kept = kept.iter().filter(|[by, _]| by == reference);
            let kept: i64 = kept.map(|[_, units]| units.parse::<i64>().expect("units")).sum();
            let lines = self.shop.refunds(reference);
            let known = self
                .shop
                .database
                .texts(["flags"], &format!("FROM seckill_payments WHERE ref = '{reference}'"));
            assert!(!known.is_empty(), "payment {reference} is unknown: {paid:?}");
            assert_eq!(
                kept + lines + paid.back - beyond.get(reference).unwrap_or(&0),
                paid.units(),
                "{reference} {paid:?}: kept {kept}, lines {lines}"
            );
        }
        // No unit is on sale that somebody has: each is sold there, or off the sale.
        for voucher in self.vouchers() {
            let sale = self.shop.info(voucher, "sale");
            let rows = format!(
                "FROM seckill_orders WHERE state = 'sold' AND voucher_id = '{voucher}' AND \
                 sale_id = '{sale}'"
            );
            let sold: i64 = self.shop.database.numbers(["units"], &rows).iter().flatten().sum();
            let there: i64 = self.shop.info(voucher, "sold").parse().expect("units");
            let outside = self.shop.run(&format!("HVALS seckill:outside:{voucher}"));
            let outside = texts(&outside).into_iter().map(|it| it.parse::<i64>().expect("units"));
            let lacks = oversold.get(voucher).unwrap_or(&0);
            assert_eq!(sold, there + outside.sum::<i64>() + lacks, "{voucher}");
            assert_eq!(self.differences(voucher), [""; 0], "{voucher}");
        }
        // The shop's own tables are as the rows.
        self.shop.check_shop(&self.stocks());
        for stream in STREAMS {
            let group = self.shop.group(stream, GROUP).expect("a group");
            assert_eq!(group["pending"], "0");
        }
    }
}

fn round(kind: Kind, seed: u64) {
    let loss = LOSSES[usize::try_from(seed % LOSSES.len() as u64).expect("a kind")];
    println!("{loss:?}, seed {seed}");
    let random = fastrand::Rng::with_seed(seed);
    let Some(mut drill) = Drill::open(kind, loss, random) else { return };
    drill.sell();
    drill.lose();
    drill.repeat();
    let results = drill.follow();
    drill.count(&results);
}

/// The rounds of `make test` are the same each time. What is new is found by DRILL_ROUNDS.
const SEEDS: [u64; 10] = [4, 6, 8, 12, 17, 20, 22, 24, 32, 41];

fn drill(kind: Kind) {
    let number = |name| std::env::var(name).ok().map(|it| it.parse::<u64>().expect("a number"));
    // A round that failed is repeated by the seed in the name of its thread.
    if let Some(seed) = number("DRILL_SEED") {
        return round(kind, seed);
    }
    let mut random = random();
    let seeds = match number("DRILL_ROUNDS") {
        // One kind of loss after the other.
        Some(rounds) => {
            let kinds = LOSSES.len() as u64;
            let first = random.u64(..u64::MAX / 2) / kinds * kinds;
            (0..rounds).map(|it| first + it + it / kinds * kinds * random.u64(1..9)).collect()
        }
        None => SEEDS.to_vec(),
    };
    // A round waits for most of its time.
    let mut failed: Vec<u64> = Vec::new();
    for seeds in seeds.chunks(AT_ONCE) {
        let is_right = |seed: &u64| catch_unwind(|| round(kind, *seed)).is_ok();
        let right = side_by_side(seeds, |seed| format!("DRILL_SEED={seed}"), is_right);
        failed.extend(seeds.iter().zip(right).filter_map(|(seed, is)| (!is).then_some(*seed)));
    }
    assert!(failed.is_empty(), "{} of {} rounds failed: {failed:?}", failed.len(), seeds.len());
}

#[test]
fn whatever_is_answered_leads_out_of_every_loss() {
    let kind = match std::env::var("DRILL_DATABASE").as_deref() {
        Err(_) => Kind::Sqlite,
        Ok("postgres") => Kind::Postgres,
        Ok("mariadb") => Kind::MariaDb,
        Ok("mysql") => Kind::MySql,
        Ok(other) => panic!("DRILL_DATABASE={other}"),
    };
    drill(kind);
}
