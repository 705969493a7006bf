//! The server's settings: the names of fields are taken over, those of streams must match.

use std::sync::Once;

use anyhow::ensure;
use domain::info::Names;
use redis::RedisError;
use redis::aio::ConnectionLike;
use seckill_tools::server_info::{fields, is_node};
use tracing::warn;

use crate::halt::Halt;
use crate::options::{FieldOptions, Options, OrderFields, ShopOptions, Site, text};
use crate::store::{Store, lacking};

const ORDER_STREAM: &str = "seckill.order-stream";
const CONFIRMED_STREAM: &str = "seckill.confirmed-stream";

/// What the worker takes from the server's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The names of the server's keys have hash tags.
    pub has_tags: bool,
    /// The names of the fields of orders: those of --order-fields, then the server's.
    pub fields: Vec<OrderFields>,
}

impl Options {
    /// Compares the server's settings with those of the worker.
    pub async fn compare(&self, connection: &mut impl ConnectionLike) -> Result<Settings, Halt> {
        compare(connection, &self.site, &self.fields, self.first_tag()).await
    }
}

/// Compares the server's settings with the options; without the module there is nothing to compare.
pub async fn compare(
    connection: &mut impl ConnectionLike,
    site: &Site,
    given: &FieldOptions,
    tag: Option<&str>,
) -> Result<Settings, Halt> {
    let unknown = |has_tags| {
        let fields = match given.order_fields.is_empty() {
            true => vec![OrderFields::default()],
            false => given.order_fields.clone(),
        };
        Settings { has_tags, fields }
    };
    if given.unchecked {
        return Ok(unknown(tag.is_some()));
    }
    let mut info = redis::pipe();
    info.cmd("INFO").arg("seckill").cmd("INFO").arg("cluster");
    match info.query_async::<(String, String)>(connection).await {
        Ok((ours, cluster)) => Ok(match Names::read(&ours) {
            Some(names) => {
                differ(site, tag, &names).map_err(Halt::Settings)?;
                let mut fields = given.order_fields.clone();
                let its = OrderFields::parse(&text(names.order_fields.clone())).ok();
                fields.extend(its.filter(|its| !given.order_fields.contains(its)));
                Settings { has_tags: names.hash_tags, fields }
            }
            None => {
                static LOGGED: Once = Once::new();
                LOGGED.call_once(|| {
                    warn!(
                        "this server runs without the module: whatever fills {} is stored, and \
                         nothing is asked of its book",
                        site.stream
                    );
                });
                unknown(is_node(&fields(&cluster)))
            }
        }),
        Err(error) if is_refused(&error) => Err(Halt::Settings(
            "the server doesn't show its settings to this user: grant it +info, or compare \
             --order-fields and --stream with the server's settings yourself and start with \
             --unchecked"
                .to_owned(),
        )),
        Err(error) => Err(error.into()),
    }
}

/// The user may not call INFO, or it was renamed.
pub fn is_refused(error: &RedisError) -> bool {
    error.code() == Some("NOPERM")
        || error.detail().is_some_and(|text| text.starts_with("unknown command"))
}

/// An error, for the operator, if the streams are not those of the server.
fn differ(site: &Site, tag: Option<&str>, names: &Names) -> Result<(), String> {
    let different = |setting: &str, its: &str, option: &str, ours: &str| {
        Err(format!(
            "{setting} of the server is \"{its}\", but {option} is \"{ours}\": start the worker \
             with {option} \"{its}\" (or with --unchecked, if other programs than SECKILL.TRY \
             fill the stream)"
        ))
    };
    let stream = text(names.order_stream.clone());
    let stream = stream.as_str();
    if let Some(tag) = tag.filter(|_| !names.hash_tags) {
        return Err(format!(
            "keys of this server have no hash tags (seckill.hash-tags is not \"yes\", and it is in \
             no cluster), so {} never gets an order: start the worker without --tag",
            site.streams_of(Some(tag)).orders
        ));
    }
    let is_of = |name: &str, base: &str| {
        let tag = name.strip_prefix(base).and_then(|rest| rest.strip_prefix(":{"));
        name == base || tag.is_some_and(|tag| tag.len() > 1 && tag.ends_with('}'))
    };
    if stream.is_empty() {
        return Err(format!("{ORDER_STREAM} of the server is empty: it keeps no orders"));
    }
    if !is_of(&site.stream, stream) {
        return different(ORDER_STREAM, stream, "--stream", &site.stream);
    }
    if !names.keeps_confirmed && !site.no_confirmed {
        return Err(format!(
            "{CONFIRMED_STREAM} of the server is \"no\", so orders that are paid would stay held \
             in the database: set it to yes, or start the worker with --no-confirmed"
        ));
    }
    Ok(())
}

/// Rows that were written with statements are never written without.
pub async fn ensure_events(store: &Store, shop: &ShopOptions) -> anyhow::Result<()> {
    let missing = store.missing_events().await?;
    let why = lacking(shop.statements().is_none(), &missing.join(", "));
    ensure!(missing.is_empty(), why);
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn difference(line: &str, names: &Names) -> Option<String> {
        let options = Options::try_parse_from(line.split('|')).unwrap();
        differ(&options.site, options.first_tag(), names).err()
    }

    #[test]
    fn a_difference_is_told_with_what_to_do() {
        let usual = Names::default();
        assert_eq!(difference("worker", &usual), None);
        let tagged = "worker|--stream|stream.orders:{7}";
        assert_eq!(difference(tagged, &usual), None);
        let stream = |stream: &str| Names { order_stream: stream.into(), ..Names::default() };
        for (line, names, words) in [
            ("worker", stream("orders"), "--stream \"orders\""),
            ("worker", stream(""), "keeps no orders"),
            ("worker|--stream|stream.orderz", usual.clone(), "--stream \"stream.orders\""),
            ("worker|--stream|stream.orders:{}", usual.clone(), "--stream \"stream.orders\""),
            ("worker|--tag|7", usual.clone(), "start the worker without --tag"),
        ] {
            let found = difference(line, &names).unwrap_or_default();
            assert!(found.contains(words), "{line}: {found}");
        }
        let tagged = Names { hash_tags: true, ..Names::default() };
        assert_eq!(difference("worker|--tag|7", &tagged), None);
        let unconfirmed = Names { keeps_confirmed: false, ..Names::default() };
        assert!(difference("worker", &unconfirmed).unwrap().contains("stay held"));
        assert_eq!(difference("worker|--no-confirmed", &unconfirmed), None);
    }
}
