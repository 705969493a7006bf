//! Lua in the strings of Java, Kotlin and Go.

use regex::{Captures, Regex};

/// Lua in other source text.
#[derive(Default, Debug)]
pub struct Found {
    /// The line where it begins, from 1.
    pub line: usize,
    pub lua: String,
    /// Whether it contains values that are only known at run time.
    pub is_joined: bool,
    /// Whether another string or value is joined before or after it.
    pub is_part: bool,
}

/// Text blocks, raw strings, and plain strings, with what is between their quotes; and comments and
/// letters, since what is commented out is not loaded, and a quote between single ones begins no
/// string.
const TOKENS: &str = r#"(?xs) """ (.*?) (?: """ | $ ) | ` ([^`]*) (?: ` | $ )
    | " ( (?: \\. | [^"\\] )* ) (?: " | \\? $ )
    | ' (?: \\. | [^\\] ) ' | // [^\n]* | /\* .*? (?: \*/ | $ )"#;

/// Strings of Java, Kotlin or Go that call Redis: text blocks, raw strings, and plain strings
/// joined by `+`. A value joined between two of them is represented by its name.
pub fn strings(code: &str) -> Vec<Found> {
    let (tokens, escapes) = (regex(TOKENS), regex(r"(?s)\\(.)"));
    let unescaped = |escape: &Captures<'_>| match &escape[1] {
        "n" => "\n".to_owned(),
        "t" => "\t".to_owned(),
        "r" => "\r".to_owned(),
        other => other.to_owned(),
    };
    let (mut found, mut open) = (Vec::new(), Found::default());
    let (mut between, mut end) = (String::new(), 0);
    for token in tokens.captures_iter(code).map(Some).chain([None]) {
        let at = token.as_ref().map_or(code.len()..code.len(), |token| token.get_match().range());
        between += &code[end..at.start];
        end = at.end;
        let text = token.as_ref().and_then(|token| {
            let raw = token.get(1).or(token.get(2)).map(|raw| raw.as_str().into());
            raw.or_else(|| Some(escapes.replace_all(token.get(3)?.as_str(), unescaped)))
        });
        if token.is_some() && text.is_none() {
            between.push(' ');
            continue;
        }
        let joint = std::mem::take(&mut between);
        let joint = joint.trim();
        let value = |c: char| c.is_alphanumeric() || "_.()+".contains(c) || c.is_whitespace();
        let is_value = joint.len() > 2
            && joint.starts_with('+')
            && joint.ends_with('+')
            && joint.chars().all(value);
        if is_value && text.is_some() && open.line > 0 {
            open.lua += joint.trim_matches(|c: char| !c.is_alphanumeric());
            open.is_joined = true;
        } else if !["", "+"].contains(&joint) || text.is_none() {
            open.is_part |= joint.starts_with('+');
            if open.lua.contains("redis.call") || open.lua.contains("redis.pcall") {
                found.push(open);
            }
            open = Found { is_part: joint.ends_with('+'), ..Found::default() };
        }
        if open.line == 0 {
            open.line = code[..at.start].matches('\n').count() + 1;
        }
        open.lua += &text.unwrap_or_default();
    }
    found
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of this file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found_in_the_strings_of_java_and_go() {
        let java = "class A {\n String a = \"redis.call('get', \" +\n  \"\\\"k\\\")\\n\";\n\
            String b = \"\"\"\n  redis.call('x')\n  \"\"\"; String c = \"none\";";
        let found = strings(java);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[0].line, &*found[0].lua), (2, "redis.call('get', \"k\")\n"));
        assert_eq!((found[1].line, found[1].is_joined), (4, false));
        let comments = "// a(`redis.call('a')`)\n/* \"redis.call('b')\" */ char c = '\"';\n\
            String url = \"http://x\"; String d = \"redis.call('d')\"; // \"redis.call('e')\"";
        let found = strings(comments);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].line, &*found[0].lua), (3, "redis.call('d')"));
        let go = strings("var s = redis.NewScript(`redis.call('a')`)");
        assert_eq!((go[0].line, &*go[0].lua), (1, "redis.call('a')"));
    }
}
