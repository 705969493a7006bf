//! What remains to be done, in lines: it is known, and not asked.

use std::collections::BTreeMap;
use std::fmt::Write;

use seckill_tools::sanitize::sanitize;

use super::questions::ResultKind;
use super::report::{Report, SHARDS};
use crate::command_text::{CommandLine, WORKER, option};

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
                    let mut options = [("voucher", &key.voucher), ("sale", &key.sale)]
                        .map(|(name, value)| option(name, value))
                        .to_vec();
                    options.extend([option("user", &key.user), "--keep".to_owned()]);
                    let again = CommandLine::of(WORKER, &["resolve"], options, Some(&key.order));
                    let again = again.text(&self.site);
                    let _ = writeln!(
                        text,
                        "order {order} of voucher {voucher} is oversold by {units} units: when \
                         units are left: {again}"
                    );
                }
                ResultKind::NotOnSale => {
                    let units = units.unwrap_or(0);
                    let (sale, shard) = key.voucher.rsplit_once('#').unwrap_or_default();
                    let options = vec![option("shard", shard), option("units", &units.to_string())];
                    let words = [&*option("voucher", sale), "reopen"];
                    let reopen = CommandLine::of(SHARDS, &words, options, None);
                    let _ = writeln!(
                        text,
                        "{reference} of voucher {} is not on sale, its part of the unsold units is \
                         at most {units}: {}",
                        sanitize(sale),
                        reopen.text(&self.server)
                    );
                }
                ResultKind::RefundedBeyond => {
                    let units = units.unwrap_or(0);
                    let options = vec![option("payment", of), option("beyond", &units.to_string())];
                    let right = CommandLine::of(WORKER, &["resolve"], options, None);
                    let _ = writeln!(
                        text,
                        "payment {reference} was refunded beyond what was due, by {units} units: \
                         if that is right: {}",
                        right.text(&self.site)
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
