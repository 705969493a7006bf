//! The server's settings that the worker's must match: a worker that reads other fields mistakes
//! good orders for malformed ones.

use std::collections::HashMap;

use domain::key_names::{Naming, uses_hash_tags};
use redis::aio::MultiplexedConnection;
use redis::{RedisError, RedisResult, cmd};

use crate::options::{Options, text};

const ORDER_FIELDS: &str = "seckill.order-fields";
const ORDER_STREAM: &str = "seckill.order-stream";
const CONFIRMED_STREAM: &str = "seckill.confirmed-stream";
const HASH_TAGS: &str = "seckill.hash-tags";
const CLUSTER: &str = "cluster-enabled";

/// Why the worker ends, as a text for the operator.
#[derive(Debug, PartialEq, Eq)]
pub struct Differ(pub String);

/// Compares the server's settings with the options; without the module there is nothing to compare.
/// Returns whether the names of the server's keys have hash tags.
pub async fn compare(
    connection: &mut MultiplexedConnection,
    options: &Options,
) -> RedisResult<Result<bool, Differ>> {
    if options.unchecked {
        return Ok(Ok(!options.tag.is_empty()));
    }
    let mut get = cmd("CONFIG");
    get.arg("GET").arg(ORDER_FIELDS).arg(ORDER_STREAM).arg(CONFIRMED_STREAM);
    get.arg(HASH_TAGS).arg(CLUSTER);
    match get.query_async::<HashMap<String, String>>(connection).await {
        Ok(found) => Ok(differ(options, &found).map(|()| has_tags(&found))),
        Err(error) if is_refused(&error) => Ok(Err(Differ(
            "the server doesn't show its settings to this user: grant it +config|get, or compare \
             --order-fields and --stream with the server's settings yourself and start with \
             --unchecked"
                .to_owned(),
        ))),
        Err(error) => Err(error),
    }
}

fn has_tags(found: &HashMap<String, String>) -> bool {
    let setting = found.get(HASH_TAGS).map(String::as_str).unwrap_or_default();
    uses_hash_tags(setting.as_bytes(), found.get(CLUSTER).is_some_and(|is| is == "yes"))
}

/// The user may not call CONFIG, or it was renamed.
fn is_refused(error: &RedisError) -> bool {
    error.code() == Some("NOPERM")
        || error.detail().is_some_and(|text| text.starts_with("unknown command"))
}

fn differ(options: &Options, found: &HashMap<String, String>) -> Result<(), Differ> {
    let different = |setting: &str, its: &str, option: &str, ours: &str| {
        Err(Differ(format!(
            "{setting} of the server is \"{its}\", but {option} is \"{ours}\": start the worker \
             with {option} \"{its}\" (or with --unchecked, if other programs than SECKILL.TRY \
             fill the stream)"
        )))
    };
    let fields = options.order_fields.to_string();
    if let Some(its) = found.get(ORDER_FIELDS).filter(|its| **its != fields) {
        return different(ORDER_FIELDS, its, "--order-fields", &fields);
    }
    let Some(stream) = found.get(ORDER_STREAM) else { return Ok(()) };
    if let Some(tag) = options.tag.first().filter(|_| !has_tags(found)) {
        return Err(Differ(format!(
            "keys of this server have no hash tags ({HASH_TAGS} is \"{}\", and it is in no \
             cluster), so {} never gets an order: start the worker without --tag",
            found.get(HASH_TAGS).map(String::as_str).unwrap_or_default(),
            options.streams_of(Some(tag)).orders
        )));
    }
    let is_of = |name: &str, base: &str| {
        let tag = name.strip_prefix(base).and_then(|rest| rest.strip_prefix(":{"));
        name == base || tag.is_some_and(|tag| tag.len() > 1 && tag.ends_with('}'))
    };
    if stream.is_empty() {
        return Err(Differ(format!("{ORDER_STREAM} of the server is empty: it keeps no orders")));
    }
    if !is_of(&options.stream, stream) {
        return different(ORDER_STREAM, stream, "--stream", &options.stream);
    }
    let naming = Naming::Plain(b"");
    let released = text(naming.released_stream(stream.as_bytes()));
    let confirmed = text(naming.confirmed_stream(stream.as_bytes()));
    let both = [
        ("--released", options.released(), released),
        ("--confirmed", options.confirmed(), confirmed),
    ];
    for (option, ours, its) in both {
        if !ours.is_empty() && !is_of(&ours, &its) {
            return Err(Differ(format!(
                "{ORDER_STREAM} of the server is \"{stream}\": start the worker with {option} \
                 \"{its}\", not \"{ours}\""
            )));
        }
    }
    if found.get(CONFIRMED_STREAM).is_some_and(|is| is == "no") && !options.confirmed().is_empty() {
        return Err(Differ(format!(
            "{CONFIRMED_STREAM} of the server is \"no\", so orders that are paid would stay held \
             in the rows: set it to yes, or start the worker with --confirmed \"\""
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn difference(line: &str, settings: &[(&str, &str)]) -> Option<String> {
        let options = Options::try_parse_from(line.split('|')).unwrap();
        let found =
            settings.iter().map(|(name, value)| (format!("seckill.{name}"), (*value).into()));
        differ(&options, &found.collect()).err().map(|Differ(text)| text)
    }

    #[test]
    fn a_difference_is_told_with_what_to_do() {
        let usual = [("order-fields", "userId voucherId id"), ("order-stream", "stream.orders")];
        assert_eq!(difference("worker", &usual), None);
        assert_eq!(difference("worker", &[]), None, "a server without the module");
        let tagged = "worker|--stream|stream.orders:{7}|--released|stream.orders.released:{7}";
        assert_eq!(difference(tagged, &usual), None);
        for (line, settings, words) in [
            (
                "worker",
                [("order-fields", "buyer item order")],
                "--order-fields \"buyer item order\"",
            ),
            ("worker", [("order-stream", "orders")], "--stream \"orders\""),
            ("worker", [("order-stream", "")], "keeps no orders"),
            ("worker|--stream|stream.orderz", [usual[1]], "--stream \"stream.orders\""),
            ("worker|--stream|stream.orders:{}", [usual[1]], "--stream \"stream.orders\""),
            ("worker|--released|x", [usual[1]], "--released \"stream.orders.released\""),
            ("worker|--confirmed|x", [usual[1]], "--confirmed \"stream.orders.confirmed\""),
            ("worker|--confirmed=", [("order-fields", "a b c")], "\"a b c\""),
            ("worker|--tag|7", [usual[1]], "start the worker without --tag"),
        ] {
            let told = difference(line, &settings).unwrap_or_default();
            assert!(told.contains(words), "{line}: {told}");
        }
        for tagged in [("hash-tags", "yes"), ("order-fields", "userId voucherId id")] {
            assert_eq!(difference("worker|--tag|7", &[tagged]), None, "{tagged:?}");
        }
        let unconfirmed = [usual[1], ("confirmed-stream", "no")];
        assert!(difference("worker", &unconfirmed).unwrap().contains("stay held"));
        assert_eq!(difference("worker|--confirmed=", &unconfirmed), None);
    }
}
