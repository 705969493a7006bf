//! Where a server keeps what is watched: the names of stock keys, of buyers and of streams.

use std::collections::HashMap;

/// What the configurations of the module say about names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    stock_prefix: Vec<u8>,
    buyers_prefix: Vec<u8>,
    order_stream: Vec<u8>,
    draw_stream: Vec<u8>,
    is_tagged: bool,
}

impl Places {
    /// A configuration that is absent has its default.
    pub fn from_configs(configs: &HashMap<Vec<u8>, Vec<u8>>, is_cluster: bool) -> Self {
        let config = |name: &str, default: &str| {
            let value = configs.get(format!("seckill.{name}").as_bytes());
            value.cloned().unwrap_or_else(|| default.as_bytes().to_vec())
        };
        Self {
            stock_prefix: config("stock-prefix", "seckill:stock:"),
            buyers_prefix: config("buyers-prefix", "seckill:order:"),
            order_stream: config("order-stream", "stream.orders"),
            draw_stream: config("draw-stream", "stream.draws"),
            // A cluster has them whatever the configuration says.
            is_tagged: is_cluster || config("hash-tags", "auto") == b"yes",
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
        let mut pattern = Vec::new();
        for byte in &self.stock_prefix {
            if b"*?[]\\^".contains(byte) {
                pattern.push(b'\\');
            }
            pattern.push(*byte);
        }
        pattern.push(b'*');
        pattern
    }

    pub fn stock_key(&self, voucher: &[u8]) -> Vec<u8> {
        [&self.stock_prefix, self.part(voucher).as_slice()].concat()
    }

    pub fn buyers_key(&self, voucher: &[u8]) -> Vec<u8> {
        [&self.buyers_prefix, self.part(voucher).as_slice()].concat()
    }

    /// The voucher of a stock key; none of a key that is none.
    pub fn voucher_of(&self, stock_key: &[u8]) -> Option<Vec<u8>> {
        let part = stock_key.strip_prefix(self.stock_prefix.as_slice())?;
        if !self.is_tagged {
            return Some(part.to_vec());
        }
        let tag = tag(part)?;
        let is_made = part.len() == tag.len() + 2;
        Some(if is_made { tag.to_vec() } else { part.to_vec() })
    }

    /// The streams of orders, of give-backs, of dead letters and of draws.
    pub fn streams(&self, vouchers: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut names = Vec::new();
        let mut tails: Vec<Vec<u8>> = vec![Vec::new()];
        if self.is_tagged {
            let tagged = |voucher: &Vec<u8>| {
                let part = self.part(voucher);
                Some([b":{", tag(&part)?, b"}"].concat())
            };
            tails = vouchers.iter().filter_map(tagged).collect();
            tails.sort();
            tails.dedup();
        }
        for tail in tails.iter().filter(|_| !self.order_stream.is_empty()) {
            for middle in [&b""[..], b".released"] {
                let stream = [&self.order_stream, middle, tail].concat();
                names.push(stream.clone());
                names.push([&stream, &b".dlq"[..]].concat());
            }
        }
        if !self.is_tagged && !self.draw_stream.is_empty() {
            names.push(self.draw_stream.clone());
        }
        names
    }

    /// What stands for the voucher in the names of its keys.
    fn part(&self, voucher: &[u8]) -> Vec<u8> {
        if self.is_tagged && tag(voucher).is_none() {
            return [b"{", voucher, b"}"].concat();
        }
        voucher.to_vec()
    }
}

/// The hash tag of a name, as the server sees it.
fn tag(name: &[u8]) -> Option<&[u8]> {
    let open = name.iter().position(|byte| *byte == b'{')?;
    let rest = name.get(open + 1..)?;
    let close = rest.iter().position(|byte| *byte == b'}')?;
    rest.get(..close).filter(|tag| !tag.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(pairs: &[(&str, &str)], is_cluster: bool) -> Places {
        let pair = |(name, value): &(&str, &str)| {
            (format!("seckill.{name}").into_bytes(), value.as_bytes().to_vec())
        };
        Places::from_configs(&pairs.iter().map(pair).collect(), is_cluster)
    }

    fn texts(names: Vec<Vec<u8>>) -> Vec<String> {
        names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    #[test]
    fn a_voucher_is_found_by_its_stock_key() {
        let plain = places(&[], false);
        let tagged = places(&[], true);
        for (places, voucher, key) in [
            (&plain, "7", "seckill:stock:7"),
            (&plain, "{a}", "seckill:stock:{a}"),
            (&tagged, "7", "seckill:stock:{7}"),
            (&tagged, "{shop3}:7", "seckill:stock:{shop3}:7"),
        ] {
            assert_eq!(texts(vec![places.stock_key(voucher.as_bytes())]), [key]);
            assert_eq!(places.voucher_of(key.as_bytes()), Some(voucher.as_bytes().to_vec()));
        }
        assert_eq!(tagged.voucher_of(b"seckill:stock:7"), None);
        assert_eq!(plain.voucher_of(b"stock:7"), None);
    }

    #[test]
    fn the_pattern_takes_the_prefix_literally() {
        assert_eq!(places(&[("stock-prefix", "a*[b]?")], false).stock_pattern(), br"a\*\[b\]\?*");
        let named = places(&[], false).with_stock_prefix(Some("s:"));
        assert_eq!(named.stock_pattern(), b"s:*");
    }

    #[test]
    fn streams_follow_the_configuration_and_the_tags() {
        let plain = places(&[("order-stream", "o"), ("draw-stream", "")], false);
        assert_eq!(texts(plain.streams(&[])), ["o", "o.dlq", "o.released", "o.released.dlq"]);
        assert_eq!(texts(places(&[("order-stream", "")], false).streams(&[])), ["stream.draws"]);
        let vouchers = [b"7".to_vec(), b"{s}:1".to_vec(), b"{s}:2".to_vec()];
        let tagged = texts(places(&[("hash-tags", "yes")], false).streams(&vouchers));
        assert_eq!(tagged.len(), 8, "{tagged:?}");
        assert!(tagged.contains(&"stream.orders.released:{s}.dlq".to_owned()), "{tagged:?}");
    }
}
