//! A script as text: its file, and how many KEYS and ARGV it names.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::options::Kind;

pub struct Source {
    /// The name of the file, without folders.
    pub name: String,
    pub text: Vec<u8>,
    pub keys: usize,
    pub args: usize,
    /// Whether it also takes KEYS or ARGV by reckoning: `ARGV[i]`, `#ARGV`, `unpack(ARGV)`.
    pub reckons: bool,
}

impl Source {
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| path.display().to_string())?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Self::of(name, text))
    }

    fn of(name: String, text: Vec<u8>) -> Self {
        let code = without_comments(&String::from_utf8_lossy(&text));
        let (keys, keys_reckoned) = highest(&code, "KEYS");
        let (args, args_reckoned) = highest(&code, "ARGV");
        Self { name, text, keys, args, reckons: keys_reckoned || args_reckoned }
    }

    /// What it is for, by the commands that it names.
    pub fn kind(&self) -> Option<Kind> {
        let code = without_comments(&String::from_utf8_lossy(&self.text)).to_lowercase();
        let calls =
            |name: &&str| ["'", "\""].iter().any(|q| code.contains(&format!("{q}{name}{q}")));
        let any = |names: &[&str]| names.iter().any(calls);
        if any(&["sadd", "sismember", "xadd", "decr", "decrby", "incrby", "incr"]) {
            Some(Kind::Sell)
        } else if any(&["del", "unlink"]) {
            Some(Kind::Unlock)
        } else {
            any(&["hincrby", "set", "hset"]).then_some(Kind::Sell)
        }
    }
}

/// The highest number that a table is asked for, and whether it is used in any other way.
fn highest(code: &str, table: &str) -> (usize, bool) {
    let (mut highest, mut reckoned) = (0, false);
    for (at, _) in code.match_indices(table) {
        let inside = |letter: char| letter.is_alphanumeric() || letter == '_';
        let before = code.get(..at).and_then(|text| text.chars().next_back());
        let after = code.get(at + table.len()..).unwrap_or_default();
        if before.is_some_and(inside) || after.starts_with(inside) {
            continue;
        }
        let index = after.trim_start().strip_prefix('[').and_then(|rest| rest.split(']').next());
        match index.and_then(|index| index.trim().parse::<usize>().ok()) {
            Some(number) => highest = highest.max(number),
            None => reckoned = true,
        }
    }
    (highest, reckoned)
}

/// Lua without `-- ...` and `--[[ ... ]]`. Strings that hold two dashes lose their end, which
/// matters to nobody who only looks for tables.
fn without_comments(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("--") {
        code += before;
        rest = match comment.strip_prefix("[[") {
            Some(long) => long.split_once("]]").map_or("", |(_, after)| after),
            None => comment.find('\n').map_or("", |end| &comment[end..]),
        };
    }
    code + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> (usize, usize, bool) {
        let source = Source::of("a.lua".into(), text.into());
        (source.keys, source.args, source.reckons)
    }

    #[test]
    fn tables_are_counted_outside_of_comments() {
        assert_eq!(counts("local a, b = ARGV[1], ARGV[ 3 ] -- ARGV[4]\nKEYS [2]"), (2, 3, false));
        assert_eq!(counts("--[[ ARGV[9]\nKEYS[9] ]] return MY_KEYS[7]"), (0, 0, false));
        assert_eq!(counts("for i = 1, #ARGV do f(ARGV[i]) end"), (0, 0, true));
        assert_eq!(counts(""), (0, 0, false));
    }
}
