//! Where a server keeps what is watched: the names of stock keys, of buyers and of streams.

use domain::info::Names;
use domain::key_names::{DEAD_LETTERS_SUFFIX, HOLDS_PREFIX, Naming, entry_name, owner_of};
use seckill_tools::scan::literal;

use crate::reading::Kind;

/// What the settings of the module say about names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyNames(Names);

impl KeyNames {
    /// The names in force, as INFO shows them; the defaults without the module.
    pub fn from_info(info: &str, is_cluster: bool) -> Self {
        let default = || Names { hash_tags: is_cluster, ..Names::default() };
        Self(Names::read(info).unwrap_or_else(default))
    }

    pub fn with_stock_prefix(mut self, prefix: Option<&str>) -> Self {
        if let Some(prefix) = prefix {
            self.0.stock_prefix = prefix.as_bytes().to_vec();
        }
        self
    }

    /// What SCAN finds the stock keys by: the prefix, none of it a wildcard.
    pub fn stock_pattern(&self) -> Vec<u8> {
        let mut pattern = literal(&self.0.stock_prefix);
        pattern.push(b'*');
        pattern
    }

    pub fn stock_key(&self, voucher: &[u8]) -> Vec<u8> {
        self.naming(voucher).key(&self.0.stock_prefix)
    }

    pub fn buyers_key(&self, voucher: &[u8]) -> Vec<u8> {
        self.naming(voucher).key(&self.0.buyers_prefix)
    }

    pub fn holds_key(&self, voucher: &[u8]) -> Vec<u8> {
        self.naming(voucher).key(HOLDS_PREFIX)
    }

    /// The voucher of a stock key; none of a key that is none.
    pub fn voucher_of(&self, stock_key: &[u8]) -> Option<Vec<u8>> {
        owner_of(stock_key, &self.0.stock_prefix, self.0.hash_tags)
    }

    /// The stream of a voucher's orders, the field of its entries that names the voucher, and by
    /// which name; none where no orders are kept.
    pub fn orders_of<'v>(&self, voucher: &'v [u8]) -> Option<(Vec<u8>, &[u8], &'v [u8])> {
        let field = self.0.order_fields.split(|byte| *byte == b' ').nth(1)?;
        let stream = &self.0.order_stream;
        let stream = (!stream.is_empty()).then(|| self.naming(voucher).stream(stream))?;
        Some((stream, field, entry_name(voucher, self.0.hash_tags)))
    }

    /// The streams of orders, of confirmed and released orders, of dead letters and of draws.
    pub fn streams(&self, vouchers: &[Vec<u8>]) -> Vec<(Kind, Vec<u8>)> {
        let mut names = Vec::new();
        if !self.0.order_stream.is_empty() {
            let namings: Vec<Naming<'_>> = match self.0.hash_tags {
                true => vouchers.iter().filter_map(|v| Naming::of(v, true).ok()).collect(),
                false => vec![Naming::Plain(b"")],
            };
            let orders = &self.0.order_stream;
            let of = |naming: &Naming<'_>| {
                [
                    (Kind::Orders, naming.stream(orders)),
                    (Kind::Confirmed, naming.confirmed_stream(orders)),
                    (Kind::Released, naming.released_stream(orders)),
                ]
            };
            // Vouchers that share a hash tag share their streams.
            let mut streams: Vec<_> = namings.iter().map(of).collect();
            streams.sort_by(|one, other| one[0].1.cmp(&other[0].1));
            streams.dedup();
            for (kind, stream) in streams.into_iter().flatten() {
                let dead_letters = [stream.as_slice(), DEAD_LETTERS_SUFFIX].concat();
                names.extend([(kind, stream), (Kind::DeadLetters, dead_letters)]);
            }
        }
        if !self.0.hash_tags && !self.0.draw_stream.is_empty() {
            names.push((Kind::Other, self.0.draw_stream.clone()));
        }
        names
    }

    /// How keys of a voucher are named. The module refuses vouchers whose braces make no hash tag:
    /// there are no keys of them.
    fn naming<'v>(&self, voucher: &'v [u8]) -> Naming<'v> {
        Naming::of(voucher, self.0.hash_tags).unwrap_or(Naming::Wrapped(voucher))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(hash_tags: bool) -> Names {
        Names { hash_tags, ..Names::default() }
    }

    fn texts(names: Vec<(Kind, Vec<u8>)>) -> Vec<String> {
        names.iter().map(|(_, name)| String::from_utf8_lossy(name).into_owned()).collect()
    }

    #[test]
    fn streams_follow_the_configuration_and_the_tags() {
        let none = Vec::new;
        let plain = Names { order_stream: b"o".into(), draw_stream: none(), ..names(false) };
        let plain = KeyNames(plain);
        let each = ["o", "o.dlq", "o.confirmed", "o.confirmed.dlq", "o.released", "o.released.dlq"];
        assert_eq!(texts(plain.streams(&[])), each);
        let drawn = KeyNames(Names { order_stream: none(), ..names(false) });
        assert_eq!(texts(drawn.streams(&[])), ["stream.draws"]);
        let vouchers = [b"7".to_vec(), b"{s}:1".to_vec(), b"{s}:2".to_vec()];
        let tagged = texts(KeyNames(names(true)).streams(&vouchers));
        assert_eq!(tagged.len(), 12, "{tagged:?}");
        assert!(tagged.contains(&"stream.orders.released:{s}.dlq".to_owned()), "{tagged:?}");
    }
}
