//! Lua in the strings of other languages, with the bytes that a program sends: text blocks, raw
//! strings, escapes and joins of constants.

use std::path::Path;

/// Lua in other source text.
#[derive(Default)]
pub struct Found {
    /// The line where it begins, from 1.
    pub line: usize,
    pub lua: String,
    /// Whether it contains values that are only known at run time.
    pub is_joined: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Java,
    Kotlin,
    Go,
    Script,
    Python,
}

impl Language {
    pub fn of(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()? {
            "java" => Self::Java,
            "kt" => Self::Kotlin,
            "go" => Self::Go,
            "js" | "mjs" | "cjs" | "ts" | "tsx" => Self::Script,
            "py" => Self::Python,
            _ => return None,
        })
    }

    fn quotes(self) -> &'static [&'static str] {
        match self {
            Self::Java | Self::Kotlin => &["\"\"\"", "\""],
            Self::Go => &["`", "\""],
            Self::Script => &["`", "\"", "'"],
            Self::Python => &["\"\"\"", "'''", "\"", "'"],
        }
    }

    /// The length of a comment, or of a quote between single ones, which begins no string.
    fn skipped(self, rest: &str) -> Option<usize> {
        if rest.starts_with(if self == Self::Python { "#" } else { "//" }) {
            return Some(rest.find('\n').unwrap_or(rest.len()));
        }
        if self != Self::Python && rest.starts_with("/*") {
            return Some(rest.find("*/").map_or(rest.len(), |end| end + 2));
        }
        let is_letter = matches!(self, Self::Java | Self::Kotlin | Self::Go);
        let inner = rest.strip_prefix('\'').filter(|_| is_letter)?;
        let inner = inner.strip_prefix('\\').unwrap_or(inner);
        let (end, _) = inner.char_indices().skip(1).take(6).find(|(_, c)| *c == '\'')?;
        Some(rest.len() - inner.len() + end + 1)
    }
}

/// A string: its text, whether values are joined into it, and how long it is in the source.
struct Token {
    text: String,
    is_joined: bool,
    len: usize,
}

/// Strings that call Redis. A value joined between two of them is represented by its name.
pub fn strings(code: &str, language: Language) -> Vec<Found> {
    let code = code.replace("\r\n", "\n");
    let (mut found, mut open) = (Vec::new(), Found::default());
    let (mut between, mut at) = (String::new(), 0);
    while at < code.len() {
        let rest = &code[at..];
        if let Some(len) = language.skipped(rest) {
            between.push(' ');
            at += len;
            continue;
        }
        let Some(token) = token(language, &code[..at], rest) else {
            let next = rest.chars().next().unwrap_or_default();
            between.push(next);
            at += next.len_utf8();
            continue;
        };
        // A prefix of Python is a part of the string.
        let joint =
            between.trim_end_matches(|c: char| language == Language::Python && c.is_alphabetic());
        let joint = joint.trim().trim_matches('\\');
        let value = |c: char| c.is_alphanumeric() || "_.()+".contains(c) || c.is_whitespace();
        let is_value = joint.len() > 2 && joint.starts_with('+') && joint.ends_with('+');
        if is_value && joint.chars().all(value) && open.line > 0 {
            open.lua += joint.trim_matches(|c: char| !c.is_alphanumeric());
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

fn token(language: Language, before: &str, rest: &str) -> Option<Token> {
    let quote = language.quotes().iter().find(|quote| rest.starts_with(**quote))?;
    let body = &rest[quote.len()..];
    let is_prefix = |c: &char| language == Language::Python && c.is_alphabetic();
    let prefix = before.chars().rev().take_while(is_prefix).collect::<String>().to_lowercase();
    let is_long = quote.len() == 3 || *quote == "`";
    let is_raw = match language {
        Language::Go | Language::Kotlin => is_long,
        _ => prefix.contains('r'),
    };
    let mut end = 0;
    while !body[end..].starts_with(quote) {
        let next = body[end..].chars().next()?;
        if next == '\n' && !is_long {
            return None;
        }
        end += next.len_utf8();
        if next == '\\' && (!is_raw || language == Language::Python) {
            end += body[end..].chars().next().map_or(0, char::len_utf8);
        }
    }
    let (raw, mut len) = (&body[..end], quote.len() + end + quote.len());
    let is_block = language == Language::Java && is_long;
    let text = if is_block { text_block(raw) } else { raw.to_owned() };
    let (mut text, mut is_joined) = if is_raw { (text, false) } else { unescaped(&text) };
    is_joined |= match language {
        Language::Kotlin => raw.contains('$'),
        Language::Script => *quote == "`" && raw.contains("${"),
        Language::Python => prefix.contains('f') && raw.contains('{'),
        _ => false,
    };
    if rest[len..].trim_start().starts_with(".trimIndent()") {
        len += rest[len..].find(')')? + 1;
        let is_blank = |line: &str| line.trim().is_empty();
        let first = text.split_once('\n').filter(|(first, _)| is_blank(first));
        let lines = first.map_or(text.as_str(), |(_, rest)| rest);
        let last = lines.rsplit_once('\n').filter(|(_, last)| is_blank(last));
        text = without_indent(last.map_or(lines, |(rest, _)| rest), None);
    }
    // Whatever else is done to it at run time is not known.
    let after = rest[len..].trim_start();
    is_joined |= after.starts_with('.') || language == Language::Python && after.starts_with('%');
    is_joined |= before.trim_end_matches(char::is_alphabetic).ends_with("dedent(");
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
    text.split('\n')
        .map(|line| line.get(least..).unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
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
            Some(next @ ('\\' | '\'' | '"' | '`' | '$')) => text.push(next),
            Some(_) => is_unknown = true,
        }
    }
    (text, is_unknown)
}
