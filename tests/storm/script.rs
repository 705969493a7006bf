//! The commands of a connection: every command of the module, at random, on keys that all
//! connections share, with users, order ids, tokens and vouchers of its own.

use crate::load::Sent;
use crate::world::CARTS;
use redis::Value;

/// A connection's random commands. Two scripts with one seed and one name are the same as long as
/// they get the same answers.
pub struct Script {
    me: String,
    random: fastrand::Rng,
    count: u32,
    /// Voucher, user, id and units of the latest tries.
    tries: Vec<[String; 4]>,
    /// The latest cart.
    cart: Option<String>,
    /// The count makes the names of users of unmanaged tries; this makes those of draws.
    draws: u32,
    /// Entries that were read and neither acknowledged nor rejected.
    entries: Vec<String>,
    /// Lock and token of the latest acquisitions.
    tokens: Vec<[String; 2]>,
    /// The connection's own voucher that is on sale.
    sale: Option<String>,
}

const LOCKS: u32 = 3;

/// Was this order id chosen for a cart?
pub fn is_of_cart(id: &str) -> bool {
    id.starts_with('k')
}

impl Script {
    pub fn new(me: &str, seed: u64) -> Self {
        let salt = me.bytes().fold(seed, |salt, byte| salt.rotate_left(9) ^ u64::from(byte));
        Self {
            me: me.to_owned(),
            random: fastrand::Rng::with_seed(salt),
            count: 0,
            tries: Vec::new(),
            cart: None,
            draws: 0,
            entries: Vec::new(),
            tokens: Vec::new(),
            sale: None,
        }
    }

    pub fn next(&mut self) -> Vec<String> {
        self.count += 1;
        let line = match self.random.u8(0..100) {
            0..17 => self.try_managed(),
            17..22 => self.try_many(),
            22..28 => self.try_unmanaged(),
            28..32 => self.try_cart(),
            32..38 => self.try_keys(),
            38..45 => self.confirm(),
            45 => format!("{} {}", self.end_order("EXTEND"), self.random.u32(1..9000)),
            46..52 => self.end_order("CANCEL"),
            52..58 => format!("XREADGROUP GROUP g {} COUNT 4 STREAMS stream.orders >", self.me),
            58..64 => self.consume(),
            64..66 => format!("SECKILL.RESTOCK m {}", self.random.i8(-6..9)),
            66..69 => format!("SECKILL.DEDUCT bare {}", self.random.u8(1..50)),
            69..72 => format!("SECKILL.RETURN bare {}", self.random.u8(1..50)),
            72..78 => self.draw("DRAW"),
            78..80 => self.draw("UNDRAW"),
            80..83 => format!("SECKILL.NEXTID ids COUNT {}", self.random.u8(1..100)),
            83..92 => self.lock(),
            92..96 => self.sale_of_its_own(),
            _ => self.look(),
        };
        line.split(' ').map(str::to_owned).collect()
    }

    /// Learns from an answer.
    pub fn hear(&mut self, sent: &Sent) {
        if let (true, Some(Value::Array(streams))) = (sent.is("XREADGROUP"), sent.answer()) {
            let streams = Value::Array(streams.clone());
            type Streams = Vec<(String, Vec<(String, Vec<String>)>)>;
            let streams: Streams = redis::from_redis_value(streams).expect("streams");
            self.entries.extend(streams.into_iter().flat_map(|(_, list)| list).map(|(id, _)| id));
        }
    }

    fn units(&mut self) -> String {
        match self.random.u8(0..4) {
            0 | 1 => String::new(),
            _ => format!(" UNITS {}", self.random.u8(1..4)),
        }
    }

    fn try_managed(&mut self) -> String {
        if self.random.u8(0..6) == 0
            && let Some([voucher, user, id, units]) = self.random.choice(&self.tries).cloned()
        {
            // A retry as after a time-out. The set of buyers of an unmanaged voucher knows no ids,
            // and an order of a cart that was refused must not be made alone.
            if voucher != "u" && !is_of_cart(&id) {
                return format!("SECKILL.TRY {voucher} {user} {id}{units}");
            }
        }
        let voucher = if self.random.u8(0..4) == 0 { "s" } else { "m" };
        let user = format!("u{}-{}", self.me, self.random.u8(0..12));
        let units = self.units();
        let waits = if voucher == "m" && self.random.bool() { " WAITLIST" } else { "" };
        if self.random.u8(0..8) == 0 {
            return format!("SECKILL.TRY {voucher} {user} *{units}{waits}");
        }
        let id = format!("o{}-{}", self.me, self.count);
        self.remember([voucher, &user, &id, &units]);
        format!("SECKILL.TRY {voucher} {user} {id}{units}{waits}")
    }

    fn try_many(&mut self) -> String {
        let voucher = self.random.choice(["m", "m", "s", "u"]).expect("one");
        let mut line = format!("SECKILL.MTRY {voucher}");
        for number in 0..self.random.choice([1, 2, 4, 8, 20]).expect("one") {
            let (me, count) = (&self.me, self.count);
            // Sometimes the same user twice. An unmanaged voucher accepts only the first order.
            let is_again = number > 0 && self.random.u8(0..6) == 0;
            let mut user = match voucher {
                "u" => format!("u{me}-{count}-{}", if is_again { 0 } else { number }),
                _ => format!("u{me}-{}", self.random.u8(0..12)),
            };
            let mut id = format!("o{me}-{count}-{number}");
            match (self.random.u8(0..10), self.random.choice(&self.tries)) {
                (0, _) if voucher != "u" => id = "*".to_owned(),
                (1, Some([of, earlier, repeated, units]))
                    if of == voucher
                        && voucher != "u"
                        && !is_of_cart(repeated)
                        && ["", " UNITS 1"].contains(&&**units) =>
                {
                    (user, id) = (earlier.clone(), repeated.clone());
                }
                (2, _) if voucher != "u" || !is_again => self.remember([voucher, &user, &id, ""]),
                _ => {}
            }
            line += &format!(" {user} {id}");
        }
        line
    }

    fn remember(&mut self, order: [&str; 4]) {
        if self.tries.len() == 12 {
            self.tries.remove(0);
        }
        self.tries.push(order.map(str::to_owned));
    }

    /// A cart, or the latest again, as after a time-out.
    fn try_cart(&mut self) -> String {
        if let Some(cart) = self.cart.clone().filter(|_| self.random.u8(0..4) == 0) {
            return cart;
        }
        let user = format!("u{}-{}", self.me, self.random.u8(0..12));
        let (id, mut line) = (format!("k{}-{}", self.me, self.count), "SECKILL.TRYALL".to_owned());
        for voucher in self.random.choice(CARTS).expect("a cart") {
            let units = self.random.u8(1..4);
            self.remember([voucher, &user, &id, &format!(" UNITS {units}")]);
            line += &format!(" {voucher} {units}");
        }
        line += &format!(" {user} {id}");
        self.cart = Some(line.clone());
        line
    }

    fn try_unmanaged(&mut self) -> String {
        let (user, id) =
            (format!("u{}-{}", self.me, self.count), format!("o{}-{}", self.me, self.count));
        self.remember(["u", &user, &id, ""]);
        format!("SECKILL.TRY u {user} {id}{}", self.units())
    }

    fn try_keys(&mut self) -> String {
        let (me, count) = (&self.me, self.count);
        let (user, id) = (format!("u{me}-{}", count % 50), format!("o{me}-{count}"));
        match self.random.u8(0..3) {
            0 => format!("SECKILL.TRYKEYS b.stock b.buyers b.stock b {user} {id} NOSTREAM"),
            _ => {
                let units = self.units();
                format!("SECKILL.TRYKEYS k.stock k.buyers k.orders k {user} {id}{units}")
            }
        }
    }

    fn end_order(&mut self, how: &str) -> String {
        match self.random.choice(&self.tries) {
            Some([voucher, user, id, _]) if voucher != "u" || how == "CANCEL" => {
                let only = match self.random.u8(0..6) {
                    0 if how == "CANCEL" && voucher != "u" => " IF held",
                    1 if how == "CANCEL" && voucher != "u" => " IF sold",
                    _ => "",
                };
                format!("SECKILL.{how} {voucher} {user} {id}{only}")
            }
            _ => format!("SECKILL.{how} m nobody none"),
        }
    }

    /// Sometimes with the reference of a payment, and with another one for the same order.
    fn confirm(&mut self) -> String {
        let line = self.end_order("CONFIRM");
        let id = |line: &str| line.rsplit(' ').next().unwrap_or_default().to_owned();
        match self.random.u8(0..8) {
            0..3 => format!("{line} REF first:{}", id(&line)),
            3 => format!("{line} REF second:{}", id(&line)),
            _ => line,
        }
    }

    fn consume(&mut self) -> String {
        if self.entries.is_empty() {
            return "SECKILL.REJECT stream.orders g 5-5".to_owned();
        }
        // One in four is kept, to be rejected again.
        let index = self.random.usize(..self.entries.len());
        let entry = match self.random.u8(0..4) {
            0 => self.entries[index].clone(),
            _ => self.entries.swap_remove(index),
        };
        match self.random.u8(0..3) {
            0 => format!("XACK stream.orders g {entry}"),
            1 => format!("SECKILL.REJECT stream.orders g {entry}"),
            _ => {
                let reason = format!("r{}-{}", self.me, self.count);
                format!("SECKILL.REJECT stream.orders g {entry} REASON {reason}")
            }
        }
    }

    fn draw(&mut self, how: &str) -> String {
        self.draws += u32::from(self.random.u8(0..3) == 0);
        let back = self.random.u32(0..3).min(self.draws);
        format!("SECKILL.{how} p u{}-{}", self.me, self.draws - back)
    }

    fn lock(&mut self) -> String {
        let latest = self.tokens.iter().rev().take(2).cloned().collect::<Vec<_>>();
        let lease = self.random.choice([20, 200, 2000]).expect("one");
        let session = if self.random.u8(0..3) == 0 { " SESSION" } else { "" };
        match (self.random.u8(0..8), self.random.choice(&latest)) {
            (0..3, Some([lock, token])) => format!("LOCK.RELEASE {lock} {token}"),
            (3, Some([lock, token])) => format!("LOCK.RENEW {lock} {token} {lease}"),
            (4, Some([lock, token])) => {
                format!("LOCK.ACQUIRE {lock} {token} {lease} FENCE{session}")
            }
            _ => {
                let lock = format!("lock{}", self.random.u32(0..LOCKS));
                let token = format!("t{}-{}", self.me, self.count);
                let wait = if self.random.bool() { " BLOCK 4" } else { "" };
                let line = format!("LOCK.ACQUIRE {lock} {token} {lease}{wait} FENCE{session}");
                self.tokens.push([lock, token]);
                line
            }
        }
    }

    fn sale_of_its_own(&mut self) -> String {
        let Some(voucher) = self.sale.clone() else {
            let voucher = format!("t{}-{}", self.me, self.count);
            self.sale = Some(voucher.clone());
            return format!("SECKILL.CREATE {voucher} 5 LIMIT 2");
        };
        match self.random.u8(0..6) {
            0 => {
                self.sale = None;
                format!("SECKILL.DROP {voucher}")
            }
            1..3 => format!("SECKILL.TRY {voucher} u{0} x{0}-{1}", self.me, self.count),
            _ => format!("SECKILL.ALTER {voucher} LIMIT {}", self.random.u32(2..1000)),
        }
    }

    fn look(&mut self) -> String {
        let [voucher, user, id, _] = match self.random.choice(&self.tries) {
            Some(order) => order.clone(),
            None => ["m", "nobody", "none", ""].map(str::to_owned),
        };
        match self.random.u8(0..5) {
            0 => format!("SECKILL.INFO {voucher}"),
            1 => format!("SECKILL.STATUS {voucher} {user}"),
            2 => format!("SECKILL.ORDER {voucher} {id}"),
            // The sale outgrows an audit at once.
            3 => "SECKILL.AUDIT m CURSOR 0".to_owned(),
            _ => format!("LOCK.INFO lock{}", self.random.u32(0..LOCKS)),
        }
    }
}
