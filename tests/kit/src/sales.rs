//! Queries managed sales: the state of an order, whether the book is correct, the server's clock.

use crate::harness::{Client, Server, text, wait_for};
use crate::observe::{integer, words};
use redis::Value;
use std::time::{SystemTime, UNIX_EPOCH};

impl Server {
    /// The server's clock, in unix milliseconds.
    pub fn clock_ms(&self) -> i64 {
        self.own().clock_ms()
    }

    /// One field of a reply that is a map; null if the reply is null.
    pub fn field(&self, command: &str, name: &str) -> Value {
        self.own().field(command, name)
    }

    /// The state of an order, or "none".
    pub fn state(&self, voucher: &str, id: &str) -> String {
        self.own().state(voucher, id)
    }

    /// Runs commands in one step: no timer fires between them.
    pub fn transaction(&self, commands: &[&str]) -> Vec<Value> {
        self.check("> MULTI\nOK");
        commands.iter().for_each(|command| self.check(&format!("> {command}\nQUEUED")));
        let Value::Array(replies) = self.run("EXEC") else { panic!("no replies to {commands:?}") };
        replies
    }

    /// Places a hold by `voucher user orderid ...`; returns its deadline, which no reply contains
    /// once the hold has ended.
    pub fn place_hold(&self, order: &str) -> i64 {
        let words: Vec<_> = order.split(' ').collect();
        let (attempt, look) =
            (format!("SECKILL.TRY {order}"), format!("SECKILL.ORDER {} {}", words[0], words[2]));
        let [accepted, found] = &self.transaction(&[&attempt, &look])[..] else {
            panic!("{order}")
        };
        assert_eq!(*accepted, Value::Int(0), "{order}");
        let found = pairs(found.clone());
        let deadline = found.iter().find(|(field, _)| field == "deadline").expect("a deadline");
        integer(&deadline.1)
    }

    /// The id of a voucher's sale, as in its entries.
    pub fn sale_of(&self, voucher: &str) -> String {
        let info = pairs(self.run(&format!("SECKILL.INFO {voucher}")));
        let sale = info.iter().find(|(field, _)| field == "sale").expect("a sale");
        integer(&sale.1).to_string()
    }

    /// Waits until an order has reached a state.
    pub fn wait_for_state(&self, voucher: &str, id: &str, state: &str) {
        self.own().wait_for_state(voucher, id, state);
    }

    /// Waits until the server's clock has passed a moment.
    pub fn wait_until(&self, moment_ms: i64) {
        self.until("a moment", || self.clock_ms() > moment_ms);
    }

    /// The differences that SECKILL.AUDIT finds.
    pub fn differences(&self, voucher: &str) -> Vec<String> {
        words(self.field(&format!("SECKILL.AUDIT {voucher}"), "differences"))
    }

    /// Fails unless the audit finds nothing, and `left`, `held` and `sold` are these.
    pub fn assert_book(&self, voucher: &str, [left, held, sold]: [i64; 3]) {
        self.own().assert_book(voucher, [left, held, sold]);
    }
}

impl Client {
    pub fn clock_ms(&mut self) -> i64 {
        ms(self.run("TIME"))
    }

    pub fn field(&mut self, command: &str, name: &str) -> Value {
        let reply = self.run(command);
        assert!(!matches!(reply, Value::ServerError(_)), "{command}: {reply:?}");
        let found = pairs(reply).into_iter().find(|(field, _)| field == name);
        found.map_or(Value::Nil, |(_, value)| value)
    }

    pub fn state(&mut self, voucher: &str, id: &str) -> String {
        match self.field(&format!("SECKILL.ORDER {voucher} {id}"), "state") {
            Value::Nil => "none".into(),
            state => text(&state),
        }
    }

    pub fn wait_for_state(&mut self, voucher: &str, id: &str, state: &str) {
        let reached = wait_for(&format!("order {id} of {voucher} to be {state}"), || {
            (self.state(voucher, id) == state).then_some(())
        });
        reached
            .unwrap_or_else(|late| panic!("{late}: {}\n{}", self.state(voucher, id), self.log()));
    }

    pub fn assert_book(&mut self, voucher: &str, wanted: [i64; 3]) {
        let (audit, _) = self.audit_in_steps(voucher, |_, _| {});
        assert_eq!(audit.differences(), Vec::<String>::new(), "{voucher}");
        let got = ["left", "held", "sold"].map(|name| audit.number(name));
        assert_eq!(got, wanted, "{voucher}");
        assert_eq!(audit.number("total"), got.iter().sum::<i64>(), "{voucher}");
    }
}

/// The clock, which the servers on this machine share.
pub fn unix_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(now.as_millis()).expect("a time")
}

/// A reply of TIME in milliseconds.
pub fn ms(time: Value) -> i64 {
    let time = words(time);
    let number = |text: &str| text.parse::<i64>().expect("TIME gives numbers");
    number(&time[0]) * 1000 + number(&time[1]) / 1000
}

/// The pairs of a map, which RESP2 sends as a flat list.
pub fn pairs(reply: Value) -> Vec<(String, Value)> {
    match reply {
        Value::Nil => Vec::new(),
        Value::Map(pairs) => pairs.into_iter().map(|(name, value)| (text(&name), value)).collect(),
        Value::Array(items) => {
            let pair = |pair: &[Value]| (text(&pair[0]), pair[1].clone());
            items.chunks_exact(2).map(pair).collect()
        }
        other => panic!("no map: {other:?}"),
    }
}
