//! Where a server keeps a voucher's facts: the names of its keys and of the stream's fields.

use std::collections::HashMap;

use anyhow::{Context, Result, anyhow, ensure};
use domain::fields::{ORDER_FIELDS, parse_order_fields};
use domain::hash_tag::StrayBraces;
use domain::key_names::{
    BOOK_PREFIX, BUYERS_PREFIX, Naming, ORDER_STREAM, RULES_PREFIX, STOCK_PREFIX, uses_hash_tags,
};

use crate::connection::Connection;

/// The keys of one voucher.
#[derive(Debug, PartialEq, Eq)]
pub struct VoucherKeys {
    pub voucher: String,
    pub stock: String,
    pub buyers: String,
    /// None if the server is configured to append no orders.
    pub stream: Option<String>,
    /// The orders of a managed voucher.
    pub book: String,
    /// The rules of a managed voucher.
    pub rules: String,
    /// The stream of releases; None if no orders are appended.
    pub released: Option<String>,
    pub user_field: String,
    pub voucher_field: String,
    pub order_field: String,
}

impl VoucherKeys {
    /// The names that the usual script uses, and the module unless it is configured otherwise.
    pub fn of_script(voucher: &str) -> Result<VoucherKeys> {
        VoucherKeys::from_configs(voucher, false, &HashMap::new())
    }

    /// The names that the module on this server is configured to use.
    pub async fn of_module(
        connection: &mut Connection,
        vouchers: &[String],
        cluster: bool,
    ) -> Result<Vec<VoucherKeys>> {
        let configs: HashMap<String, String> = redis::cmd("CONFIG")
            .arg("GET")
            .arg("seckill.*")
            .query_async(connection)
            .await
            .context("CONFIG GET seckill.*, to learn the names of the keys")?;
        ensure!(!configs.is_empty(), "this server has no SECKILL commands: load the module");
        vouchers
            .iter()
            .map(|voucher| VoucherKeys::from_configs(voucher, cluster, &configs))
            .collect()
    }

    /// A config that is absent has its default.
    fn from_configs(
        voucher: &str,
        cluster: bool,
        configs: &HashMap<String, String>,
    ) -> Result<VoucherKeys> {
        let config = |name: &str, default: &str| {
            let value = configs.get(&format!("seckill.{name}"));
            value.cloned().unwrap_or_else(|| default.to_owned())
        };
        let hash_tags = uses_hash_tags(config("hash-tags", "auto").as_bytes(), cluster);
        let naming = Naming::of(voucher.as_bytes(), hash_tags)
            .map_err(|StrayBraces| anyhow!("the braces in voucher {voucher} are not a hash tag"))?;
        let key = |prefix: &[u8]| text(&naming.key(prefix));

        let fields = config("order-fields", ORDER_FIELDS);
        let [user_field, voucher_field, order_field] = parse_order_fields(fields.as_bytes())
            .map_err(|_| anyhow!("seckill.order-fields is \"{fields}\", not three names"))?
            .map(text);
        let stream = config("order-stream", ORDER_STREAM);
        let stream = (!stream.is_empty()).then_some(stream.as_bytes());
        Ok(VoucherKeys {
            voucher: voucher.to_owned(),
            stock: key(config("stock-prefix", STOCK_PREFIX).as_bytes()),
            buyers: key(config("buyers-prefix", BUYERS_PREFIX).as_bytes()),
            book: key(BOOK_PREFIX),
            rules: key(RULES_PREFIX),
            released: stream.map(|stream| text(&naming.released_stream(stream))),
            stream: stream.map(|stream| text(&naming.stream(stream))),
            user_field,
            voucher_field,
            order_field,
        })
    }
}

/// A name that is made of texts.
fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configs(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(name, value)| (format!("seckill.{name}"), (*value).to_owned())).collect()
    }

    #[test]
    fn defaults_are_the_names_of_the_scripts() {
        let names = VoucherKeys::of_script("7").unwrap();
        let keys = [names.stock, names.buyers, names.book, names.rules];
        let wanted = ["seckill:stock:7", "seckill:order:7", "seckill:book:7", "seckill:voucher:7"];
        assert_eq!(keys, wanted);
        assert_eq!(names.stream.as_deref(), Some("stream.orders"));
        assert_eq!(names.released.as_deref(), Some("stream.orders.released"));
        let fields = [names.user_field, names.voucher_field, names.order_field];
        assert_eq!(fields, ["userId", "voucherId", "id"]);
    }

    #[test]
    fn configured_names_are_honoured() {
        let configs = configs(&[
            ("stock-prefix", "s:"),
            ("buyers-prefix", "b:"),
            ("order-stream", "orders"),
            ("order-fields", "u v o"),
        ]);
        let names = VoucherKeys::from_configs("7", false, &configs).unwrap();
        assert_eq!((names.stock.as_str(), names.buyers.as_str()), ("s:7", "b:7"));
        assert_eq!(names.stream.as_deref(), Some("orders"));
        let fields = (names.user_field, names.voucher_field, names.order_field);
        assert_eq!(fields, ("u".to_owned(), "v".to_owned(), "o".to_owned()));
    }

    #[test]
    fn an_empty_stream_means_none() {
        let names =
            VoucherKeys::from_configs("7", true, &configs(&[("order-stream", "")])).unwrap();
        assert_eq!(names.stream, None);
    }

    #[test]
    fn hash_tags_follow_the_config_and_the_server() {
        for (config, cluster, tagged) in [
            ("auto", false, false),
            ("auto", true, true),
            ("yes", false, true),
            ("no", false, false),
            ("no", true, true),
        ] {
            let configs = configs(&[("hash-tags", config)]);
            let names = VoucherKeys::from_configs("7", cluster, &configs).unwrap();
            let stock = if tagged { "seckill:stock:{7}" } else { "seckill:stock:7" };
            assert_eq!(names.stock, stock, "{config} {cluster}");
            let stream = if tagged { "stream.orders:{7}" } else { "stream.orders" };
            assert_eq!(names.stream.as_deref(), Some(stream), "{config} {cluster}");
            let released = stream.replace("orders", "orders.released");
            assert_eq!(names.released.as_deref(), Some(released.as_str()));
        }
    }

    #[test]
    fn a_voucher_keeps_its_own_tag() {
        let names =
            VoucherKeys::from_configs("{shop3}:7", false, &configs(&[("hash-tags", "yes")]))
                .unwrap();
        assert_eq!(names.stock, "seckill:stock:{shop3}:7");
        assert_eq!(names.stream.as_deref(), Some("stream.orders:{shop3}"));
    }

    #[test]
    fn braces_that_make_no_tag_are_refused() {
        let configs = configs(&[("hash-tags", "yes")]);
        for voucher in ["{}x", "a}b", "}", ""] {
            assert!(VoucherKeys::from_configs(voucher, false, &configs).is_err(), "{voucher}");
        }
    }
}
