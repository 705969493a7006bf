//! Where a server keeps what is watched: the names of stock keys, of buyers and of streams.

use std::collections::HashMap;

use domain::key_names::{
    BUYERS_PREFIX, DEAD_LETTERS_SUFFIX, DRAW_STREAM, HOLDS_PREFIX, Naming, ORDER_STREAM,
    STOCK_PREFIX, owner_of, uses_hash_tags,
};
use seckill_tools::scan::literal;

/// What the configurations of the module say about names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyNames {
    stock_prefix: Vec<u8>,
    buyers_prefix: Vec<u8>,
    order_stream: Vec<u8>,
    draw_stream: Vec<u8>,
    is_tagged: bool,
}

impl KeyNames {
    /// A configuration that is absent has its default.
    pub fn from_configs(configs: &HashMap<Vec<u8>, Vec<u8>>, is_cluster: bool) -> Self {
        let config = |name: &str, default: &str| {
            let value = configs.get(format!("seckill.{name}").as_bytes());
            value.cloned().unwrap_or_else(|| default.as_bytes().to_vec())
        };
        Self {
            stock_prefix: config("stock-prefix", STOCK_PREFIX),
            buyers_prefix: config("buyers-prefix", BUYERS_PREFIX),
            order_stream: config("order-stream", ORDER_STREAM),
            draw_stream: config("draw-stream", DRAW_STREAM),
            is_tagged: uses_hash_tags(&config("hash-tags", "auto"), is_cluster),
        }
    }

    pub fn with_stock_prefix(mut self, prefix: Option<&str>) -> Self {
        if let Some(prefix) = prefix {
            self.stock_prefix = prefix.as_bytes().to_vec();
        }
        self
    }

    /// What SCAN finds the stock keys by: the prefix, none of it a wildcard.
    pub fn stock_pattern(&self) -> Vec<u8> {
        let mut pattern = literal(&self.stock_prefix);
        pattern.push(b'*');
        pattern
    }

    pub fn stock_key(&self, voucher: &[u8]) -> Vec<u8> {
        self.naming(voucher).key(&self.stock_prefix)
    }

    pub fn buyers_key(&self, voucher: &[u8]) -> Vec<u8> {
        self.naming(voucher).key(&self.buyers_prefix)
    }

    pub fn holds_key(&self, voucher: &[u8]) -> Vec<u8> {
        self.naming(voucher).key(HOLDS_PREFIX)
    }

    /// The voucher of a stock key; none of a key that is none.
    pub fn voucher_of(&self, stock_key: &[u8]) -> Option<Vec<u8>> {
        owner_of(stock_key, &self.stock_prefix, self.is_tagged)
    }

    /// The streams of orders, of released orders, of dead letters and of draws.
    pub fn streams(&self, vouchers: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut names = Vec::new();
        if !self.order_stream.is_empty() {
            let namings: Vec<Naming<'_>> = match self.is_tagged {
                true => vouchers.iter().filter_map(|v| Naming::of(v, true).ok()).collect(),
                false => vec![Naming::Plain(b"")],
            };
            let of = |naming: &Naming<'_>| {
                [naming.stream(&self.order_stream), naming.released_stream(&self.order_stream)]
            };
            // Vouchers that share a hash tag share their streams.
            let mut streams: Vec<_> = namings.iter().map(of).collect();
            streams.sort();
            streams.dedup();
            for stream in streams.into_iter().flatten() {
                names.push(stream.clone());
                names.push([stream.as_slice(), DEAD_LETTERS_SUFFIX].concat());
            }
        }
        if !self.is_tagged && !self.draw_stream.is_empty() {
            names.push(self.draw_stream.clone());
        }
        names
    }

    /// How keys of a voucher are named. The module refuses vouchers whose braces make no hash tag:
    /// there are no keys of them.
    fn naming<'v>(&self, voucher: &'v [u8]) -> Naming<'v> {
        Naming::of(voucher, self.is_tagged).unwrap_or(Naming::Wrapped(voucher))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_names(pairs: &[(&str, &str)], is_cluster: bool) -> KeyNames {
        let pair = |(name, value): &(&str, &str)| {
            (format!("seckill.{name}").into_bytes(), value.as_bytes().to_vec())
        };
        KeyNames::from_configs(&pairs.iter().map(pair).collect(), is_cluster)
    }

    fn texts(names: Vec<Vec<u8>>) -> Vec<String> {
        names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    #[test]
    fn a_voucher_is_found_by_its_stock_key() {
        let plain = key_names(&[], false);
        let tagged = key_names(&[], true);
        for (key_names, voucher, key) in [
            (&plain, "7", "seckill:stock:7"),
            (&plain, "{a}", "seckill:stock:{a}"),
            (&tagged, "7", "seckill:stock:{7}"),
            (&tagged, "{shop3}:7", "seckill:stock:{shop3}:7"),
        ] {
            assert_eq!(texts(vec![key_names.stock_key(voucher.as_bytes())]), [key]);
            assert_eq!(key_names.voucher_of(key.as_bytes()), Some(voucher.as_bytes().to_vec()));
        }
        assert_eq!(tagged.voucher_of(b"seckill:stock:7"), None);
        assert_eq!(plain.voucher_of(b"stock:7"), None);
    }

    #[test]
    fn the_pattern_takes_the_prefix_literally() {
        assert_eq!(
            key_names(&[("stock-prefix", "a*[b]?")], false).stock_pattern(),
            br"a\*\[b\]\?*"
        );
        let named = key_names(&[], false).with_stock_prefix(Some("s:"));
        assert_eq!(named.stock_pattern(), b"s:*");
    }

    #[test]
    fn streams_follow_the_configuration_and_the_tags() {
        let plain = key_names(&[("order-stream", "o"), ("draw-stream", "")], false);
        assert_eq!(texts(plain.streams(&[])), ["o", "o.dlq", "o.released", "o.released.dlq"]);
        assert_eq!(texts(key_names(&[("order-stream", "")], false).streams(&[])), ["stream.draws"]);
        let vouchers = [b"7".to_vec(), b"{s}:1".to_vec(), b"{s}:2".to_vec()];
        let tagged = texts(key_names(&[("hash-tags", "yes")], false).streams(&vouchers));
        assert_eq!(tagged.len(), 8, "{tagged:?}");
        assert!(tagged.contains(&"stream.orders.released:{s}.dlq".to_owned()), "{tagged:?}");
    }
}
