//! Where a server keeps a voucher's facts: the names of its keys and of the stream's fields.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};

use crate::link::Link;

/// The keys of one voucher.
#[derive(Debug, PartialEq, Eq)]
pub struct Names {
    pub voucher: String,
    pub stock: String,
    pub buyers: String,
    /// None where the server is configured to append no orders.
    pub stream: Option<String>,
    /// Of a managed voucher: its orders.
    pub book: String,
    /// Of a managed voucher: its rules.
    pub rules: String,
    /// Of a managed voucher: what was given back. None without a stream.
    pub released: Option<String>,
    pub user_field: String,
    pub voucher_field: String,
    pub order_field: String,
}

impl Names {
    /// The names that every script uses.
    pub fn of_script(voucher: &str) -> Names {
        Names {
            voucher: voucher.to_owned(),
            stock: format!("seckill:stock:{voucher}"),
            buyers: format!("seckill:order:{voucher}"),
            stream: Some("stream.orders".to_owned()),
            book: format!("seckill:book:{voucher}"),
            rules: format!("seckill:voucher:{voucher}"),
            released: Some("stream.orders.released".to_owned()),
            user_field: "userId".to_owned(),
            voucher_field: "voucherId".to_owned(),
            order_field: "id".to_owned(),
        }
    }

    /// The names that the module on this server is configured to use.
    pub async fn of_module(
        connection: &mut Link,
        vouchers: &[String],
        cluster: bool,
    ) -> Result<Vec<Names>> {
        let configs: HashMap<String, String> = redis::cmd("CONFIG")
            .arg("GET")
            .arg("seckill.*")
            .query_async(connection)
            .await
            .context("CONFIG GET seckill.*, to learn the names of the keys")?;
        ensure!(!configs.is_empty(), "this server has no SECKILL commands: load the module");
        vouchers.iter().map(|voucher| Names::from_configs(voucher, cluster, &configs)).collect()
    }

    /// A config that is absent has its default.
    fn from_configs(
        voucher: &str,
        cluster: bool,
        configs: &HashMap<String, String>,
    ) -> Result<Names> {
        let config = |name: &str, default: &str| {
            let value = configs.get(&format!("seckill.{name}"));
            value.cloned().unwrap_or_else(|| default.to_owned())
        };
        // A cluster has them whatever the config says.
        let tagged = cluster || config("hash-tags", "auto") == "yes";
        let (key_part, stream_tail) =
            if tagged { tag(voucher)? } else { (voucher.to_owned(), String::new()) };

        let fields = config("order-fields", "userId voucherId id");
        let [user_field, voucher_field, order_field] =
            fields.split_whitespace().collect::<Vec<_>>()[..]
        else {
            bail!("seckill.order-fields is \"{fields}\", not three names");
        };
        let stream = config("order-stream", "stream.orders");
        Ok(Names {
            voucher: voucher.to_owned(),
            stock: format!("{}{key_part}", config("stock-prefix", "seckill:stock:")),
            buyers: format!("{}{key_part}", config("buyers-prefix", "seckill:order:")),
            book: format!("seckill:book:{key_part}"),
            rules: format!("seckill:voucher:{key_part}"),
            released: (!stream.is_empty()).then(|| format!("{stream}.released{stream_tail}")),
            stream: (!stream.is_empty()).then(|| stream + &stream_tail),
            user_field: user_field.to_owned(),
            voucher_field: voucher_field.to_owned(),
            order_field: order_field.to_owned(),
        })
    }
}

/// With hash tags on: what stands for the voucher in a key, and what follows the stream's name.
/// A voucher that has a tag keeps it; one without is made its own tag.
fn tag(voucher: &str) -> Result<(String, String)> {
    let own = voucher.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    if let Some((tag, _)) = own.filter(|(tag, _)| !tag.is_empty()) {
        return Ok((voucher.to_owned(), format!(":{{{tag}}}")));
    }
    let usable = !voucher.is_empty() && !voucher.contains('}');
    ensure!(usable, "the braces in voucher {voucher} make no hash tag");
    Ok((format!("{{{voucher}}}"), format!(":{{{voucher}}}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configs(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(name, value)| (format!("seckill.{name}"), (*value).to_owned())).collect()
    }

    #[test]
    fn defaults_are_the_names_of_the_scripts() {
        let names = Names::from_configs("7", false, &configs(&[])).unwrap();
        assert_eq!(names, Names::of_script("7"));
    }

    #[test]
    fn configured_names_are_honoured() {
        let configs = configs(&[
            ("stock-prefix", "s:"),
            ("buyers-prefix", "b:"),
            ("order-stream", "orders"),
            ("order-fields", "u v o"),
        ]);
        let names = Names::from_configs("7", false, &configs).unwrap();
        assert_eq!((names.stock.as_str(), names.buyers.as_str()), ("s:7", "b:7"));
        assert_eq!(names.stream.as_deref(), Some("orders"));
        let fields = (names.user_field, names.voucher_field, names.order_field);
        assert_eq!(fields, ("u".to_owned(), "v".to_owned(), "o".to_owned()));
    }

    #[test]
    fn an_empty_stream_means_none() {
        let names = Names::from_configs("7", true, &configs(&[("order-stream", "")])).unwrap();
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
            let names = Names::from_configs("7", cluster, &configs).unwrap();
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
            Names::from_configs("{shop3}:7", false, &configs(&[("hash-tags", "yes")])).unwrap();
        assert_eq!(names.stock, "seckill:stock:{shop3}:7");
        assert_eq!(names.stream.as_deref(), Some("stream.orders:{shop3}"));
    }

    #[test]
    fn braces_that_make_no_tag_are_refused() {
        let configs = configs(&[("hash-tags", "yes")]);
        for voucher in ["{}x", "a}b", "}", ""] {
            assert!(Names::from_configs(voucher, false, &configs).is_err(), "{voucher}");
        }
    }
}
