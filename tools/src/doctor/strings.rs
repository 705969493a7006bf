//! Lua in the strings of Java and Kotlin, with the bytes that a program sends: text blocks, raw
//! strings, escapes and joins of constants.

/// Lua in other source text.
#[derive(Default)]
pub struct Found {
    /// The line where it begins, from 1.
    pub line: usize,
    pub lua: String,
    /// Whether it contains values that are only known at run time.
    pub is_joined: bool,
}

/// A string: its text, whether values are joined into it, and how long it is in the source.
struct Token {
    text: String,
    is_joined: bool,
    len: usize,
}

/// Strings that call Redis.
pub fn strings(code: &str, is_kotlin: bool) -> Vec<Found> {
    let code = code.replace("\r\n", "\n");
    let (mut found, mut open) = (Vec::new(), Found::default());
    let (mut between, mut at) = (String::new(), 0);
    while at < code.len() {
        let rest = &code[at..];
        if let Some(len) = skipped(rest) {
            between.push(' ');
            at += len;
            continue;
        }
        let Some(token) = token(rest, is_kotlin) else {
            let next = rest.chars().next().unwrap_or_default();
            between.push(next);
            at += next.len_utf8();
            continue;
        };
        let joint = between.trim();
        let value = |c: char| c.is_alphanumeric() || "_.()+".contains(c) || c.is_whitespace();
        let is_value = joint.len() > 2 && joint.starts_with('+') && joint.ends_with('+');
        if is_value && joint.chars().all(value) && open.line > 0 {
            open.is_joined = true;
        } else if !joint.is_empty() && joint != "+" {
            // What is joined to something else is not all that is sent.
            open.is_joined |= joint.starts_with('+');
            found.push(std::mem::take(&mut open));
            open.is_joined = joint.ends_with('+');
        }
        between.clear();
        if open.line == 0 {
            open.line = code[..at].matches('\n').count() + 1;
        }
        open.lua += &token.text;
        open.is_joined |= token.is_joined;
        at += token.len;
    }
    open.is_joined |= between.trim().starts_with('+');
    found.push(open);
    found.retain(|one| one.lua.contains("redis.call") || one.lua.contains("redis.pcall"));
    found
}

/// The length of a comment, or of a quote between single ones, which begins no string.
fn skipped(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    ["'\"'", "'\\\"'"].into_iter().find(|letter| rest.starts_with(letter)).map(str::len)
}

fn token(rest: &str, is_kotlin: bool) -> Option<Token> {
    let quote = ["\"\"\"", "\""].into_iter().find(|quote| rest.starts_with(quote))?;
    let (body, is_long) = (&rest[quote.len()..], quote.len() == 3);
    let (is_raw, mut end) = (is_kotlin && is_long, 0);
    while !body[end..].starts_with(quote) {
        let next = body[end..].chars().next()?;
        if next == '\n' && !is_long {
            return None;
        }
        end += next.len_utf8();
        if next == '\\' && !is_raw {
            end += body[end..].chars().next().map_or(0, char::len_utf8);
        }
    }
    let (raw, mut len) = (&body[..end], quote.len() + end + quote.len());
    let text = if is_long && !is_kotlin { text_block(raw) } else { raw.to_owned() };
    let (mut text, mut is_joined) = if is_raw { (text, false) } else { unescaped(&text) };
    if rest[len..].trim_start().starts_with(".trimIndent()") {
        len += rest[len..].find(')')? + 1;
        let is_blank = |line: &str| line.trim().is_empty();
        let first = text.split_once('\n').filter(|(first, _)| is_blank(first));
        let lines = first.map_or(text.as_str(), |(_, rest)| rest);
        let last = lines.rsplit_once('\n').filter(|(_, last)| is_blank(last));
        text = without_indent(last.map_or(lines, |(rest, _)| rest), None);
    }
    // Whatever else is done to it at run time is not known.
    is_joined |= is_kotlin && raw.contains('$') || rest[len..].trim_start().starts_with('.');
    Some(Token { text, is_joined, len })
}

/// A text block of Java, before its escapes: the indentation is that of the line with the least,
/// the last one included, and no line ends in spaces.
fn text_block(raw: &str) -> String {
    let raw = raw.split_once('\n').map_or(raw, |(_, rest)| rest);
    let text = without_indent(raw, raw.rsplit('\n').next());
    text.split('\n').map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The text without the indentation that all its lines have, blank ones but for `last` aside.
fn without_indent(text: &str, last: Option<&str>) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines = text.split('\n').filter(|line| !line.trim().is_empty()).chain(last);
    let least = lines.map(indent).min().unwrap_or(0);
    let lines = text.split('\n').map(|line| line.get(least..).unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The text, and whether it has an escape whose meaning is not known here.
fn unescaped(raw: &str) -> (String, bool) {
    let (mut text, mut is_unknown, mut rest) = (String::new(), false, raw.chars());
    while let Some(letter) = rest.next() {
        match if letter == '\\' { rest.next() } else { None } {
            None => text.push(letter),
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('\n') => {}
            Some(next @ ('\\' | '\'' | '"' | '$')) => text.push(next),
            Some(_) => is_unknown = true,
        }
    }
    (text, is_unknown)
}
