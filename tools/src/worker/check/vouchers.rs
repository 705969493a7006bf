//! What is compared: a voucher, the shards of a sale, or all vouchers.

use std::collections::BTreeSet;

use anyhow::Result;
use domain::key_names::{Naming, PAYMENTS_PREFIX, RULES_PREFIX};
use redis::cmd;
use seckill_tools::nodes::Nodes;
use seckill_tools::scan::literal;
use seckill_tools::sharding::sale_of_shard;

use super::lost_shard::shards_of_sale;
use super::{Checker, source_of, undone};
use crate::options::tag_of_stream;
use crate::order_events::Which;
use crate::source::Source;

impl Checker<'_> {
    /// The voucher, or those of the sale's shards that its journals name or the database has.
    pub(super) async fn vouchers_of(&self, voucher: &str) -> Result<Vec<String>> {
        let mut vouchers = self.store.vouchers().await?;
        vouchers.retain(|it| sale_of_shard(it) == Some(voucher));
        let named = shards_of_sale(&self.link, voucher).await?;
        vouchers.extend(named.into_iter().flat_map(|(vouchers, _)| vouchers));
        if vouchers.is_empty() {
            vouchers.insert(voucher.to_owned());
        }
        Ok(vouchers.into_iter().collect())
    }

    /// The sales over shards that the vouchers may be of.
    pub(super) fn see_sales(&mut self, voucher: Option<&str>, vouchers: &[String]) {
        let sales = vouchers.iter().filter_map(|voucher| sale_of_shard(voucher));
        self.sales = sales.chain(voucher).map(str::to_owned).collect();
    }

    /// All vouchers that the database has, with the other shards of their sales; those with rules
    /// or payments; and those that entries of these streams name which are not done.
    pub(super) async fn all_vouchers(&mut self, sources: Vec<Source>) -> Result<Vec<String>> {
        let mut vouchers = self.store.vouchers().await?;
        for (prefix, kind) in [(RULES_PREFIX, "string"), (PAYMENTS_PREFIX, "hash")] {
            let keys = self.keys_like(prefix, kind).await?;
            let named = keys.iter().filter_map(|key| key.strip_prefix(prefix));
            let named = named.filter_map(|voucher| String::from_utf8(voucher.to_vec()).ok());
            vouchers.extend(named.map(untagged));
        }
        for mut source in sources {
            let undone = undone::undone(&mut source, &self.settings.fields).await?;
            vouchers.extend(undone.keys().flatten().cloned());
            self.undone.insert(source.name(Which::Orders).to_owned(), undone);
        }
        // No order can be of another one.
        vouchers.retain(|it| Naming::of(it.as_bytes(), self.settings.has_tags).is_ok());
        let sales: BTreeSet<String> = vouchers
            .iter()
            .filter_map(|voucher| sale_of_shard(voucher))
            .map(str::to_owned)
            .collect();
        for sale in sales {
            let named = shards_of_sale(&self.link, &sale).await?;
            vouchers.extend(named.into_iter().flat_map(|(vouchers, _)| vouchers));
        }
        Ok(vouchers.into_iter().collect())
    }

    /// All streams of orders, of every hash tag, with those beside them.
    pub(super) async fn sources(&self) -> Result<Vec<Source>> {
        let mut tags = BTreeSet::from([None]);
        if self.settings.has_tags && !self.site.is_tagged() {
            let stream = self.site.stream.as_bytes();
            let keys = self.keys_like(&[stream, b":{"].concat(), "stream").await?;
            tags = keys.iter().map(|key| tag_of_stream(key, stream)).collect();
            tags.remove(&None);
        }
        let source = |tag: Option<String>| source_of(&self.link, self.site, tag.as_deref());
        Ok(tags.into_iter().map(source).collect())
    }

    /// The keys of all primaries that begin with this, and are of this type.
    pub(super) async fn keys_like(&self, prefix: &[u8], kind: &str) -> Result<BTreeSet<Vec<u8>>> {
        let pattern = [&literal(prefix)[..], b"*"].concat();
        let mut all = BTreeSet::new();
        for mut node in Nodes::new(self.site.server.place()?).primaries().await? {
            let mut cursor = "0".to_owned();
            loop {
                let mut scan = cmd("SCAN");
                scan.arg(&cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(1_000);
                scan.arg("TYPE").arg(kind);
                let (next, keys): (String, Vec<Vec<u8>>) = scan.query_async(&mut node).await?;
                all.extend(keys);
                if next == "0" {
                    break;
                }
                cursor = next;
            }
        }
        Ok(all)
    }
}

/// The voucher of a key without the braces that a server with hash tags adds.
fn untagged(voucher: String) -> String {
    let inner = voucher.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inner.filter(|inner| !inner.contains(['{', '}'])).map_or(voucher.clone(), str::to_owned)
}
