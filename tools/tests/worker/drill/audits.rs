//! The operator, who does what the page of SECKILL.AUDIT says.

use std::collections::BTreeMap;

use kit::declared::texts;

use super::Drill;
use crate::shop::pairs;

/// Fixes are looked at again this often.
const AUDITS: u32 = 6;

impl Drill {
    /// Makes the keys of each sale agree with its book.
    pub fn audits(&self) {
        for voucher in self.vouchers() {
            for _ in 0..AUDITS {
                let all = self.differences(voucher);
                if all.is_empty() {
                    break;
                }
                all.iter().for_each(|difference| self.fixes(voucher, difference));
            }
        }
    }

    pub fn differences(&self, voucher: &str) -> Vec<String> {
        let redis::Value::Array(audit) = self.shop.run(&format!("SECKILL.AUDIT {voucher}")) else {
            return Vec::new();
        };
        texts(audit.last().expect("differences"))
    }

    fn fixes(&self, voucher: &str, difference: &str) {
        println!("audit {voucher}: {difference}");
        let found = pairs(self.shop.run(&format!("SECKILL.AUDIT {voucher}")));
        let of = |name: &str| found[name].parse().unwrap_or(0);
        let [total, left, live]: [i64; 3] = [of("total"), of("left"), of("held") + of("sold")];
        let numbers = difference.split(' ').filter_map(|word| word.parse::<i64>().ok());
        let first = numbers.clone().next().unwrap_or(0);
        let stock = format!("seckill:stock:{voucher}");
        if difference == "there is no stock key" {
            self.client(&format!("SET {stock} {}", (total - live).max(0)));
        } else if difference.contains("is no book") || difference.contains("units are missing") {
            // Units that nobody has are on sale again.
            if !self.writes_lost_orders(voucher) {
                self.client(&format!("INCRBY {stock} {}", total - left - live));
            }
        } else if difference.starts_with("total is") {
            let beyond = left + live - total;
            self.client(&format!("DECRBY {stock} {beyond}"));
            if beyond > left {
                self.client(&format!("SECKILL.RESTOCK {voucher} {}", beyond - left));
            }
        } else if difference.starts_with("held orders have") {
            self.client(&format!("HSET seckill:extra:{voucher} orders {first}"));
        } else if difference.starts_with("users have") {
            self.client(&format!("HSET seckill:extra:{voucher} users {first}"));
        } else {
            self.agrees_with_book(voucher);
        }
    }

    /// Orders that the database has and the book lacks. False if there is none.
    fn writes_lost_orders(&self, voucher: &str) -> bool {
        let columns = ["order_id", "user_id", "state", "units", "deadline_ms", "COALESCE(ref, '')"];
        let sale = self.shop.info(voucher, "sale");
        let rows = format!(
            "FROM seckill_orders WHERE units > 0 AND voucher_id = '{voucher}' AND \
             sale_id = '{sale}'"
        );
        let book = format!("seckill:book:{voucher}");
        let mut written = false;
        for [id, user, state, units, deadline, by] in self.shop.database.texts(columns, &rows) {
            let order = match (&*state, &*by) {
                ("held", _) => format!("held:{units}:{deadline}:{user}"),
                (_, "") => format!("sold:{units}:0:{user}"),
                _ => format!("sold:{units}:0,ref{}:{by}:{user}", by.len()),
            };
            written |= self.client(&format!("HSETNX {book} {id} {order}")) == redis::Value::Int(1);
        }
        written
    }

    /// Holds, users' units and buyers.
    fn agrees_with_book(&self, voucher: &str) {
        let mut users: BTreeMap<String, (i64, String)> = BTreeMap::new();
        self.client(&format!("DEL seckill:hold:{voucher}"));
        for id in texts(&self.shop.run(&format!("HKEYS seckill:book:{voucher}"))) {
            let order = pairs(self.shop.run(&format!("SECKILL.ORDER {voucher} {id}")));
            if order["state"] == "held" {
                self.client(&format!("ZADD seckill:hold:{voucher} {} {id}", order["deadline"]));
            }
            if order["state"] == "held" || order["state"] == "sold" {
                let (units, last) = users.entry(order["user"].clone()).or_default();
                *units += order["units"].parse::<i64>().expect("units");
                *last = id;
            }
        }
        let [units, buyers] = ["units", "order"].map(|key| format!("seckill:{key}:{voucher}"));
        self.client(&format!("DEL {units} {buyers}"));
        for (user, (sum, last)) in users {
            self.client(&format!("HSET {units} {user} {sum}:{last}"));
            self.client(&format!("SADD {buyers} {user}"));
        }
    }
}
