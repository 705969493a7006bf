//! Where a server keeps a voucher's facts: the names of its keys and of the stream's fields.

use anyhow::{Context, Result, anyhow};
use domain::fields::parse_order_fields;
use domain::hash_tag::StrayBraces;
use domain::info::Names;
use domain::key_names::{BOOK_PREFIX, Naming, OUTSIDE_PREFIX, PAYMENTS_PREFIX, RULES_PREFIX};

use crate::connection::Connection;

/// The keys of one voucher.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Payments by reference; outlives the sale.
    pub payments: String,
    /// Units by order that an operator has taken off the sale.
    pub outside: String,
    /// The stream of releases; None if no orders are appended.
    pub released: Option<String>,
    pub user_field: String,
    pub voucher_field: String,
    pub order_field: String,
}

impl VoucherKeys {
    /// The names that the module on this server is configured to use.
    pub async fn of_module(
        connection: &mut Connection,
        vouchers: &[String],
    ) -> Result<Vec<VoucherKeys>> {
        let infos = connection.info("seckill").await;
        let infos = infos.context("INFO seckill, to learn the names of the keys")?;
        let names = infos.iter().find_map(|info| Names::read(info));
        let names = names.context("this server has no SECKILL commands: load the module")?;
        vouchers.iter().map(|voucher| VoucherKeys::of(voucher, &names)).collect()
    }

    fn of(voucher: &str, names: &Names) -> Result<VoucherKeys> {
        let naming = Naming::of(voucher.as_bytes(), names.hash_tags)
            .map_err(|StrayBraces| anyhow!("the braces in voucher {voucher} are not a hash tag"))?;
        let key = |prefix: &[u8]| text(&naming.key(prefix));

        let [user_field, voucher_field, order_field] = parse_order_fields(&names.order_fields)
            .map_err(|why| anyhow!("the fields of orders {why}"))?
            .map(text);
        let stream = Some(names.order_stream.as_slice()).filter(|stream| !stream.is_empty());
        Ok(VoucherKeys {
            voucher: voucher.to_owned(),
            stock: key(&names.stock_prefix),
            buyers: key(&names.buyers_prefix),
            book: key(BOOK_PREFIX),
            rules: key(RULES_PREFIX),
            payments: key(PAYMENTS_PREFIX),
            outside: key(OUTSIDE_PREFIX),
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

    fn tagged() -> Names {
        Names { hash_tags: true, ..Names::default() }
    }

    #[test]
    fn defaults_are_the_names_of_the_scripts() {
        let names = VoucherKeys::of("7", &Names::default()).unwrap();
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
        let names = Names {
            stock_prefix: b"s:".into(),
            buyers_prefix: b"b:".into(),
            order_stream: b"orders".into(),
            order_fields: b"u v o".into(),
            ..Names::default()
        };
        let names = VoucherKeys::of("7", &names).unwrap();
        assert_eq!((names.stock.as_str(), names.buyers.as_str()), ("s:7", "b:7"));
        assert_eq!(names.stream.as_deref(), Some("orders"));
        let fields = (names.user_field, names.voucher_field, names.order_field);
        assert_eq!(fields, ("u".to_owned(), "v".to_owned(), "o".to_owned()));
    }

    #[test]
    fn an_empty_stream_means_none() {
        let names = Names { order_stream: Vec::new(), ..tagged() };
        let keys = VoucherKeys::of("7", &names).unwrap();
        assert_eq!((keys.stream, keys.released), (None, None));
    }

    #[test]
    fn hash_tags_are_those_of_the_server() {
        let names = VoucherKeys::of("7", &tagged()).unwrap();
        assert_eq!(names.stock, "seckill:stock:{7}");
        assert_eq!(names.stream.as_deref(), Some("stream.orders:{7}"));
        assert_eq!(names.released.as_deref(), Some("stream.orders.released:{7}"));
        let names = VoucherKeys::of("{shop3}:7", &tagged()).unwrap();
        assert_eq!(names.stock, "seckill:stock:{shop3}:7");
        assert_eq!(names.stream.as_deref(), Some("stream.orders:{shop3}"));
        for voucher in ["{}x", "a}b", "}", ""] {
            assert!(VoucherKeys::of(voucher, &tagged()).is_err(), "{voucher}");
        }
    }
}
