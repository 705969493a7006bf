//! What is compared: a voucher, the shards of a sale, or all vouchers.

use std::collections::BTreeSet;

use anyhow::Result;
use domain::key_names::RULES_PREFIX;
use redis::cmd;
use seckill_tools::nodes::Nodes;
use seckill_tools::scan::literal;
use seckill_tools::sharding::sale_of_shard;

use super::Checker;
use super::lost_shard::shards_of_sale;

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

    /// All vouchers that the database has, with the other shards of their sales, and the managed
    /// ones that are on.
    pub(super) async fn all_vouchers(&mut self) -> Result<Vec<String>> {
        let mut vouchers = self.store.vouchers().await?;
        let pattern = [literal(RULES_PREFIX), b"*".to_vec()].concat();
        for mut node in Nodes::new(self.site.server.place()?).primaries().await? {
            let mut cursor = "0".to_owned();
            loop {
                let mut scan = cmd("SCAN");
                scan.arg(&cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(1_000);
                let (next, keys): (String, Vec<Vec<u8>>) = scan.query_async(&mut node).await?;
                for key in keys {
                    let voucher = key.strip_prefix(RULES_PREFIX).map(<[u8]>::to_vec);
                    let voucher = voucher.and_then(|voucher| String::from_utf8(voucher).ok());
                    vouchers.extend(voucher.map(untagged));
                }
                if next == "0" {
                    break;
                }
                cursor = next;
            }
        }
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
}

/// The voucher of a key without the braces that a server with hash tags adds.
fn untagged(voucher: String) -> String {
    let inner = voucher.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inner.filter(|inner| !inner.contains(['{', '}'])).map_or(voucher.clone(), str::to_owned)
}
