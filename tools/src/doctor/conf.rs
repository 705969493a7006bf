//! Lines of redis.conf.

use domain::fields::ORDER_FIELDS;
use domain::key_names::{BUYERS_PREFIX, ORDER_STREAM, STOCK_PREFIX};
use seckill_tools::sanitize::is_hidden;
use serde::Serialize;

pub type Setting = (&'static str, String);

/// The settings that a replacement may need, at their defaults.
pub fn defaults() -> [(&'static str, &'static str); 7] {
    [
        ("seckill.stock-prefix", STOCK_PREFIX),
        ("seckill.buyers-prefix", BUYERS_PREFIX),
        ("seckill.order-stream", ORDER_STREAM),
        ("seckill.order-fields", ORDER_FIELDS),
        ("seckill.missing-stock", "error"),
        ("seckill.unlimited-stock", "no"),
        ("seckill.scripts", ""),
    ]
}

/// All that is to be pasted into redis.conf for many scripts, and what must be known about it.
#[derive(Default, Serialize)]
pub struct Block {
    #[serde(rename = "conf")]
    pub lines: Vec<String>,
    pub notes: Vec<String>,
}

/// A line of redis.conf.
pub fn conf_line(name: &str, value: &str) -> String {
    let bare = |c: char| !c.is_whitespace() && !"\"'\\#".contains(c) && !is_hidden(c);
    if !value.is_empty() && value.chars().all(bare) {
        return format!("{name} {value}");
    }
    let letter = |letter: char| match letter {
        '"' | '\\' => format!("\\{letter}"),
        hidden if is_hidden(hidden) => {
            hidden.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect()
        }
        letter => letter.to_string(),
    };
    format!("{name} \"{}\"", value.chars().map(letter).collect::<String>())
}
