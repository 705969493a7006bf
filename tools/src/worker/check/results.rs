//! What remains to be done, in lines: it is known, and not asked.

use std::collections::BTreeMap;
use std::fmt::Write;

use seckill_tools::command_line::quoted;
use seckill_tools::sanitize::sanitize;

use super::questions::ResultKind;
use super::report::Report;
use crate::command_text::{command, option, shards_command};

impl Report {
    pub(super) fn results(&self, text: &mut String) {
        let mut refunds: BTreeMap<bool, (usize, i64)> = BTreeMap::new();
        for ((kind, key, of), units) in &self.found.results {
            let [order, voucher, reference] = [&key.order, &key.voucher, of].map(|it| sanitize(it));
            match kind {
                ResultKind::Refund => {
                    let (lines, sum) = refunds.entry(units.is_some()).or_default();
                    *lines += 1;
                    *sum = sum.saturating_add(units.unwrap_or(0));
                }
                ResultKind::Oversold => {
                    let units = units.unwrap_or(0);
                    let sale = option("sale", &key.sale);
                    let words = ["resolve".to_owned(), option("voucher", &key.voucher), sale];
                    let mut words = words.to_vec();
                    words.extend([option("user", &key.user), "--keep".to_owned()]);
                    words.extend(self.site.iter().cloned());
                    words.extend(["--".to_owned(), quoted(&key.order)]);
                    let again = command(&words, &[]);
                    let _ = writeln!(
                        text,
                        "order {order} of voucher {voucher} is oversold by {units} units: when \
                         units are left: {again}"
                    );
                }
                ResultKind::NotOnSale => {
                    let units = units.unwrap_or(0);
                    let (sale, shard) = key.voucher.rsplit_once('#').unwrap_or_default();
                    let words = [
                        option("voucher", sale),
                        "reopen".to_owned(),
                        option("shard", shard),
                        option("units", &units.to_string()),
                    ];
                    let _ = writeln!(
                        text,
                        "{reference} of voucher {} is not on sale, its part of the unsold units is \
                         at most {units}: {}",
                        sanitize(sale),
                        shards_command(&words, &self.server)
                    );
                }
                ResultKind::RefundedBeyond => {
                    let units = units.unwrap_or(0);
                    let words = [
                        "resolve".to_owned(),
                        option("payment", of),
                        option("beyond", &units.to_string()),
                    ];
                    let _ = writeln!(
                        text,
                        "payment {reference} was refunded beyond what was due, by {units} units: \
                         if that is right: {}",
                        command(&words, &self.site)
                    );
                }
            }
        }
        for (is_known, (payments, units)) in refunds {
            let is_listed = self.found.totals.refunds;
            let what =
                if is_listed { "still to be refunded" } else { "to be refunded, or refunded" };
            let _ = match is_known {
                true => writeln!(text, "{what}: {units} units of {payments} payments"),
                false => writeln!(text, "{what}: {payments} payments as a whole"),
            };
        }
    }
}
