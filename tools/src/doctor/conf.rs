//! Lines of redis.conf: for one replacement, and one block for many scripts, since a server has one
//! value of each setting.

use std::collections::BTreeMap;

use domain::fields::ORDER_FIELDS;
use domain::key_names::{BUYERS_PREFIX, ORDER_STREAM, STOCK_PREFIX};
use seckill_tools::sanitize::is_hidden;

use crate::cure::{Cure, Way};
use crate::report::{Examined, Verdict};

pub type Setting = (&'static str, String);

/// The settings that a replacement may need, at their defaults.
pub const DEFAULTS: [(&str, &str); 6] = [
    ("seckill.stock-prefix", STOCK_PREFIX),
    ("seckill.buyers-prefix", BUYERS_PREFIX),
    ("seckill.order-stream", ORDER_STREAM),
    ("seckill.order-fields", ORDER_FIELDS),
    ("seckill.missing-stock", "error"),
    ("seckill.unlimited-stock", "no"),
];

/// All that is to be pasted into redis.conf for many scripts, and what must be known about it.
#[derive(Default)]
pub struct Block {
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

/// A call of CONFIG SET that sets all of these at once.
pub fn config_set(settings: &[Setting]) -> String {
    let lines: Vec<String> = settings.iter().map(|(name, value)| conf_line(name, value)).collect();
    format!("CONFIG SET {}", lines.join(" "))
}

/// The settings of a replacement, its entry of `seckill.scripts` last.
pub fn settings(cure: &Cure, entry: Option<String>) -> Vec<Setting> {
    let entry = entry.map(|entry| ("seckill.scripts", entry));
    cure.settings.iter().cloned().chain(entry).collect()
}

/// Each setting that must have this value for the replacement, also if it is the default.
fn needs(cure: &Cure) -> Vec<Setting> {
    let text = match &cure.way {
        Way::Native(text) | Way::Lua(text) => text,
    };
    let is_needed = |name: &str| match name {
        _ if text.contains("SECKILL.TRYKEYS") => match name {
            "seckill.order-fields" => !text.contains("FIELDS") && !text.contains("NOSTREAM"),
            "seckill.missing-stock" => !text.contains("MISSING"),
            "seckill.unlimited-stock" => true,
            _ => false,
        },
        _ => text.contains("SECKILL.TRY"),
    };
    let value = |name, default: &str| {
        let own = cure.settings.iter().find(|(own, _)| *own == name);
        own.map_or_else(|| default.to_owned(), |(_, value)| value.clone())
    };
    let needed = DEFAULTS.into_iter().filter(|(name, _)| is_needed(name));
    needed.map(|(name, default)| (name, value(name, default))).collect()
}

/// The block for many scripts, with what the module can answer. Scripts that need no settings come
/// first; one that would need others than are set already gets a line that needs none.
pub fn block(all: &[Examined]) -> Option<Block> {
    let mut set: BTreeMap<&str, (String, &str)> = BTreeMap::new();
    let (mut entries, mut block, mut others) = (Vec::new(), Block::default(), Vec::new());
    let (mut fit, unfit): (Vec<&Examined>, Vec<&Examined>) = all
        .iter()
        .filter(|one| !one.cures.is_empty())
        .partition(|one| one.verdict == Verdict::DropIn);
    fit.sort_by_key(|one| !one.cures[0].settings.is_empty());
    for one in fit {
        let contradiction = |cure: &Cure| {
            needs(cure).into_iter().find_map(|(name, value)| {
                let (other, file) = set.get(name).filter(|(other, _)| *other != value)?;
                Some(format!(
                    "{name} would have to be \"{value}\" for {}, but is \"{other}\" for {file}, and \
                     a server has one value",
                    one.file
                ))
            })
        };
        let trouble = contradiction(&one.cures[0]);
        let cure = one.cures.iter().find(|cure| contradiction(cure).is_none());
        let entry = cure.and_then(|cure| one.scripts_line(cure));
        let advice = match (cure, &entry) {
            (Some(_), Some(_)) => "SECKILL.TRYKEYS answers it here".to_owned(),
            (Some(_), None) => format!("put its line of SECKILL.TRYKEYS in place of {}", one.file),
            (None, _) => "it needs another server".to_owned(),
        };
        match trouble {
            Some(trouble) => block.notes.push(format!("{trouble}: {advice}.")),
            None if entry.is_none() => others.push(one.file.as_str()),
            None => {}
        }
        entries.extend(entry);
        for (name, value) in cure.map(needs).unwrap_or_default() {
            set.entry(name).or_insert((value, &one.file));
        }
    }
    others.extend(unfit.iter().map(|one| one.file.as_str()));
    if !others.is_empty() {
        block.notes.push(format!("Not in it, see above: {}.", others.join(", ")));
    }
    entries.sort();
    entries.dedup();
    for (name, default) in DEFAULTS {
        let value = set.get(name).map(|(value, _)| value).filter(|value| *value != default);
        block.lines.extend(value.map(|value| conf_line(name, value)));
    }
    if !entries.is_empty() {
        block.lines.push(conf_line("seckill.scripts", &entries.join("; ")));
    }
    (!block.lines.is_empty() && all.len() > 1).then_some(block)
}
