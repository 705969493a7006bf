//! Which of the keys that a shard has to have are not there. A shard that lacks one is lost: what
//! it has sold is no longer known, so it is never put on sale again as it was. Pure.

use std::collections::HashMap;

use anyhow::{Context, Result};

use super::shard::Shard;
use crate::sale_info::SaleInfo;

/// What a shard was seen to have, at one moment.
pub struct Seen<'s> {
    pub journal: &'s HashMap<String, String>,
    pub has_stock: bool,
    pub has_rules: bool,
    pub has_book: bool,
    /// None if there is neither stock nor rules.
    pub info: Option<&'s SaleInfo>,
}

impl Seen<'_> {
    /// Is its journal of this sale?
    pub fn is_of(&self, sale: &str) -> bool {
        self.journal.get("sale").is_some_and(|it| it == sale)
    }

    pub fn has_anything(&self, sale: &str) -> bool {
        self.is_of(sale) || self.has_stock || self.has_rules || self.has_book
    }

    /// The units that were given to this shard, as its journal of this sale counts them.
    pub fn units(&self) -> Result<i64> {
        let units = self.journal.get("units").context("a journal has no units")?;
        units.parse().context("a journal holds units that are no number")
    }

    /// What is missing, each named by its key. A stock is there from the opening on, if only with
    /// 0; buyers and a book are there once something was sold.
    pub fn missing(&self, sale: &str, keys: &Shard) -> Result<Vec<String>> {
        let mut missing = Vec::new();
        if !self.is_of(sale) {
            missing.push(keys.journal.clone());
        }
        if !self.has_stock {
            missing.push(keys.stock.clone());
        }
        let is_managed = self.journal.contains_key("voucher-sale");
        if is_managed && !self.has_rules {
            missing.push(keys.rules.clone());
            return Ok(missing);
        }
        // A stock below zero was closed by somebody, and doesn't say what was sold.
        let Some(info) = self.info.filter(|info| info.left.is_some_and(|left| left >= 0)) else {
            return Ok(missing);
        };
        let buyers = info.buyers.unwrap_or(0);
        if info.managed {
            let taken = info.taken().unwrap_or(0);
            if taken > 0 && buyers == 0 {
                missing.push(keys.buyers.clone());
            }
            if taken > 0 && !self.has_book {
                missing.push(keys.book.clone());
            }
        } else if self.is_of(sale) {
            // A buyer has one unit. The set is there again once somebody else has bought.
            let lost = self.units()? - info.left.unwrap_or(0) - buyers;
            if lost > 0 && buyers == 0 {
                missing.push(keys.buyers.clone());
            } else if lost > 0 {
                missing.push(format!("{lost} buyers of {}", keys.buyers));
            }
        }
        Ok(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Shard {
        let name = |kind: &str| format!("{kind}:7#1");
        let [voucher, stock, buyers] = ["voucher", "stock", "buyers"].map(name);
        let [rules, book, journal] = ["rules", "book", "journal"].map(name);
        Shard { voucher, stock, buyers, journal, rules, book }
    }

    /// What is missing of a shard of ten units; `is_managed` by its journal.
    fn missing(
        is_managed: bool,
        [has_stock, has_rules, has_book]: [bool; 3],
        figures: Option<[i64; 2]>,
    ) -> Vec<String> {
        let mut journal = HashMap::from([("sale", "s"), ("units", "10")]);
        journal.extend(is_managed.then_some(("voucher-sale", "1")));
        let journal = journal.into_iter().map(|(name, it)| (name.to_owned(), it.to_owned()));
        let info = figures.map(|[left, buyers]| SaleInfo {
            managed: has_rules,
            left: has_stock.then_some(left),
            sold: has_stock.then_some(10 - left),
            held: Some(0),
            buyers: Some(buyers),
            ..SaleInfo::default()
        });
        let journal = journal.collect();
        let seen = Seen { journal: &journal, has_stock, has_rules, has_book, info: info.as_ref() };
        assert!(seen.has_anything("s"));
        let missing = seen.missing("s", &keys()).unwrap();
        let other = seen.missing("another", &keys()).unwrap();
        assert_eq!(other.first().map(String::as_str), Some("journal:7#1"));
        missing
    }

    #[test]
    fn what_a_shard_has_to_have_is_missed() {
        let (unmanaged, managed) = ([true, false, false], [true, true, true]);
        // Nothing sold; some; all.
        for figures in [[10, 0], [7, 3], [0, 10]] {
            assert!(missing(false, unmanaged, Some(figures)).is_empty(), "{figures:?}");
            assert!(missing(true, managed, Some(figures)).is_empty(), "{figures:?}");
        }
        assert!(missing(true, [true, true, false], Some([10, 0])).is_empty(), "no book yet");
        assert!(missing(true, [true, true, false], Some([-1, 0])).is_empty(), "closed");
        assert_eq!(missing(false, [false; 3], None), ["stock:7#1"]);
        assert_eq!(missing(false, unmanaged, Some([5, 0])), ["buyers:7#1"]);
        assert_eq!(missing(false, unmanaged, Some([4, 1])), ["5 buyers of buyers:7#1"]);
        assert_eq!(missing(true, [false, true, true], Some([0, 3])), ["stock:7#1"]);
        assert_eq!(missing(true, managed, Some([7, 0])), ["buyers:7#1"]);
        assert_eq!(missing(true, [true, true, false], Some([7, 3])), ["book:7#1"]);
        assert_eq!(missing(true, [true, false, true], Some([7, 3])), ["rules:7#1"]);
        assert_eq!(missing(true, [false; 3], None), ["stock:7#1", "rules:7#1"]);
    }
}
