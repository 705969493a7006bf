//! Texts that can't run alone: parts of scripts, which are joined with other text at run time.

use seckill_tools::sanitize::sanitize;

use crate::reply::Reply;
use crate::report::Examined;
use crate::source::{Source, regex};

const JOINED: &str = "other source text joins it with values at run time";

/// The result for a part.
pub fn examined(source: &Source, seen: &str) -> Examined {
    let whole = "Give the doctor the whole text as it is sent to the server.";
    let obstacles = vec![
        format!("It seems to be a part of a script, or to miss a line. Seen: {seen}."),
        whole.to_owned(),
    ];
    Examined { what: "a part of a script", obstacles, ..Examined::new(&source.name) }
}

/// Why a text that the server can't load is a part; none if nothing shows that.
pub fn of_load(error: &Reply, source: &Source) -> Option<String> {
    let text = error.text();
    let begins = ["end", "else", "elseif", "until", ")"]
        .iter()
        .any(|word| text.contains(&format!("'<eof>' expected near '{word}'")));
    let ends = text.contains("'end' expected") && text.contains("near '<eof>'");
    let seen = match () {
        () if begins => "it ends a block that it has not begun",
        () if ends => "it ends inside a block",
        () if source.is_joined || source.is_part => JOINED,
        () => return None,
    };
    Some(format!("{seen}, and the server can't load it: {}", source.error(error)))
}

/// Why a text that the server loads is a part, from an error that occurs whatever the keys contain.
pub fn of_run(error: &Reply, source: &Source) -> Option<String> {
    let text = error.text();
    let seen = match undefined(&text, source) {
        Some(name) => format!("nothing in it says what {} is", sanitize(name)),
        None if source.is_joined || source.is_part => JOINED.to_owned(),
        None => return None,
    };
    Some(format!("{seen}, and every call fails: {}", source.error(error)))
}

/// A name that the script uses and does not define, from the server's error: a sign that part of
/// the script is missing. None for a misspelt name of the script's own.
fn undefined<'e>(error: &'e str, source: &Source) -> Option<&'e str> {
    let name = regex(r"nonexistent global variable '([^']*)'").captures(error)?.get(1)?.as_str();
    let own = regex(r"\blocal (?:function )?([\w, ]+)");
    let own = own.captures_iter(&source.code).filter_map(|names| names.get(1));
    let own = own.flat_map(|names| names.as_str().split(',').map(str::trim));
    const GIVEN: [&str; 12] = [
        "KEYS", "ARGV", "redis", "tonumber", "tostring", "string", "table", "math", "cjson",
        "ipairs", "pairs", "unpack",
    ];
    let mut known = own.chain(GIVEN);
    known.all(|word| !is_alike(word, name)).then_some(name)
}

/// Whether one name may be the other one, misspelt or shortened.
fn is_alike(one: &str, other: &str) -> bool {
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    let shorter = one.len().min(other.len());
    if shorter >= 3 && (one.starts_with(&other) || other.starts_with(&one)) {
        return true;
    }
    strsim::levenshtein(&one, &other) <= (shorter + 1) / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_its_own_that_is_misspelt_is_not_missing() {
        let source = Source::of("a".into(), "local voucher, left = 1\nreturn x".into());
        let undefined = |name: &str| {
            let error =
                format!("ERR Script attempted to access nonexistent global variable '{name}'");
            super::undefined(&error, &source).is_some()
        };
        for name in ["AVGV", "reids", "voucherId", "Left", "tonumer", "lefts"] {
            assert!(!undefined(name), "{name}");
        }
        for name in ["stockKey", "userId", "quantity"] {
            assert!(undefined(name), "{name}");
        }
    }
}
