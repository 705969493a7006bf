//! Lua in the strings of other languages, with the bytes that a program sends.

use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    Java,
    Kotlin,
    Go,
    Script,
    Python,
    Php,
}

/// What follows a string and changes it.
const METHODS: [&str; 5] =
    [".trimIndent()", ".trimMargin()", ".stripIndent()", ".trim()", ".strip()"];

impl Language {
    pub fn of(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()? {
            "java" => Self::Java,
            "kt" => Self::Kotlin,
            "go" => Self::Go,
            "js" | "mjs" | "cjs" | "ts" | "tsx" => Self::Script,
            "py" => Self::Python,
            "php" => Self::Php,
            _ => return None,
        })
    }

    fn comment(self, rest: &str) -> Option<usize> {
        let line = if self == Self::Python { "#" } else { "//" };
        if rest.starts_with(line) || self == Self::Php && rest.starts_with('#') {
            return Some(rest.find('\n').unwrap_or(rest.len()));
        }
        let is_block = self != Self::Python && rest.starts_with("/*");
        is_block.then(|| rest.find("*/").map_or(rest.len(), |end| end + 2))
    }

    /// The quote that begins a string.
    fn quote(self, rest: &str) -> Option<&'static str> {
        let quotes: &[&str] = match self {
            Self::Java | Self::Kotlin => &["\"\"\"", "\""],
            Self::Go => &["`", "\""],
            Self::Script => &["`", "\"", "'"],
            Self::Python => &["\"\"\"", "'''", "\"", "'"],
            Self::Php => &["<<<", "\"", "'"],
        };
        quotes.iter().copied().find(|quote| rest.starts_with(quote))
    }
}

/// A string: its text, whether values are joined into it, and how long it is in the source.
struct Token {
    text: String,
    is_joined: bool,
    len: usize,
}

/// Strings that call Redis, joined as the language does it. A value joined between two of them is
/// represented by its name. What is commented out is not loaded.
pub fn strings(code: &str, language: Language) -> Vec<Found> {
    let code = if language == Language::Php { code.to_owned() } else { code.replace("\r\n", "\n") };
    let join = if language == Language::Php { '.' } else { '+' };
    let (mut found, mut open) = (Vec::new(), Found::default());
    let (mut between, mut at) = (String::new(), 0);
    while at < code.len() {
        let rest = &code[at..];
        if let Some(len) = language.comment(rest).or_else(|| letter(language, rest)) {
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
        let joint = std::mem::take(&mut between);
        // A prefix is a part of the string.
        let joint =
            joint.trim_end_matches(|c: char| language == Language::Python && c.is_alphabetic());
        let joint = joint.trim().trim_matches('\\');
        let value = |c: char| c.is_alphanumeric() || "_.()+$>-".contains(c) || c.is_whitespace();
        let is_value = joint.len() > 2
            && joint.starts_with(join)
            && joint.ends_with(join)
            && joint.chars().all(value);
        if is_value && open.line > 0 {
            open.lua += joint.trim_matches(|c: char| !c.is_alphanumeric());
            open.is_joined = true;
        } else if !joint.is_empty() && joint != join.to_string() {
            open.is_part |= joint.starts_with(join);
            found.push(open);
            open = Found { is_part: joint.ends_with(join), ..Found::default() };
        }
        if open.line == 0 {
            open.line = code[..at].matches('\n').count() + 1;
        }
        open.lua += &token.text;
        open.is_joined |= token.is_joined;
        at += token.len;
    }
    open.is_part |= between.trim().starts_with(join);
    found.push(open);
    found.retain(|one| one.lua.contains("redis.call") || one.lua.contains("redis.pcall"));
    found
}

/// A quote between single ones begins no string.
fn letter(language: Language, rest: &str) -> Option<usize> {
    let is_own = matches!(language, Language::Java | Language::Kotlin | Language::Go);
    let inner = rest.strip_prefix('\'').filter(|_| is_own)?;
    let inner = inner.strip_prefix('\\').unwrap_or(inner);
    let end = inner.char_indices().skip(1).take(6).find(|(_, c)| *c == '\'')?.0;
    Some(rest.len() - inner.len() + end + 1)
}

fn token(language: Language, before: &str, rest: &str) -> Option<Token> {
    let quote = language.quote(rest)?;
    let body = &rest[quote.len()..];
    let prefix: String = before.chars().rev().take_while(|c| c.is_alphabetic()).collect();
    let prefix = if language == Language::Python { prefix.to_lowercase() } else { String::new() };
    if quote == "<<<" {
        return heredoc(body);
    }
    let is_long = quote.len() == 3 || quote == "`" || language == Language::Php;
    let is_raw = prefix.contains('r')
        || language == Language::Go && quote == "`"
        || language == Language::Kotlin && is_long;
    let mut end = 0;
    loop {
        let next = body[end..].chars().next()?;
        match next {
            _ if body[end..].starts_with(quote) => break,
            '\n' if !is_long => return None,
            '\\' if !is_raw || prefix.contains('r') => {
                end += 1 + body[end + 1..].chars().next().map_or(0, char::len_utf8);
            }
            other => end += other.len_utf8(),
        }
    }
    let (raw, mut len) = (&body[..end], quote.len() + end + quote.len());
    let names = |sign: &str| {
        raw.match_indices(sign).any(|(at, _)| {
            let next = raw[at + sign.len()..].chars().next();
            !raw[..at].ends_with('\\')
                && next.is_some_and(|c| c.is_alphabetic() || "_{".contains(c))
        })
    };
    let mut is_joined = match language {
        Language::Kotlin => names("$"),
        Language::Script => quote == "`" && raw.contains("${"),
        Language::Python => prefix.contains('f') && raw.contains('{'),
        Language::Php => quote == "\"" && names("$"),
        _ => false,
    };
    let mut text = match (language, quote.len()) {
        (Language::Java, 3) => unescaped(&text_block(raw), language, quote),
        (Language::Go, _) if is_raw => raw.replace('\r', ""),
        _ if is_raw => raw.to_owned(),
        _ => unescaped(raw, language, quote),
    };
    if before.trim_end_matches(char::is_alphabetic).ends_with("dedent(") {
        text = without_indent(&text);
    }
    while let Some(method) = METHODS.iter().find(|own| {
        let after = rest[len..].trim_start();
        after.starts_with(**own)
    }) {
        len += rest[len..].find(method)? + method.len();
        text = match *method {
            ".trimIndent()" => inner_lines(&without_indent(&text)),
            ".trimMargin()" => {
                let margin = |line: &str| line.trim_start().strip_prefix('|').map(str::to_owned);
                let lines = text.split('\n').map(|line| margin(line).unwrap_or(line.to_owned()));
                inner_lines(&lines.collect::<Vec<_>>().join("\n"))
            }
            ".stripIndent()" => text,
            _ => text.trim().to_owned(),
        };
    }
    let after = rest[len..].trim_start();
    is_joined |= [".format(", ".formatted("].iter().any(|own| after.starts_with(own));
    is_joined |= language == Language::Python && after.starts_with('%');
    Some(Token { text, is_joined, len })
}

/// `<<<LUA` or `<<<'LUA'`, up to a line that begins with the same word.
fn heredoc(body: &str) -> Option<Token> {
    let (first, rest) = body.split_once('\n')?;
    let name = first.trim().trim_matches(['\'', '"']);
    let is_end = |line: &str| {
        let after = line.trim_start().strip_prefix(name);
        after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let last = rest.split('\n').position(is_end).filter(|_| !name.is_empty())?;
    let lines: Vec<&str> = rest.split('\n').collect();
    let indent = lines[last].len() - lines[last].trim_start().len();
    let text = lines[..last].iter().map(|line| line.get(indent..).unwrap_or(line.trim_start()));
    let text = text.collect::<Vec<_>>().join("\n");
    let is_plain = first.contains('\'');
    let taken: usize = lines[..last].iter().map(|line| line.len() + 1).sum();
    Some(Token {
        is_joined: !is_plain && text.contains('$'),
        text: if is_plain { text } else { unescaped(&text, Language::Php, "\"") },
        len: 3 + first.len() + 1 + taken + indent + name.len(),
    })
}

/// A text block of Java, before its escapes: the indentation is that of the line with the least,
/// the last one included.
fn text_block(raw: &str) -> String {
    let raw = raw.split_once('\n').map_or(raw, |(_, rest)| rest);
    let last = raw.rsplit('\n').next().unwrap_or_default();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines = raw.split('\n').filter(|line| !line.trim().is_empty()).chain([last]);
    let least = lines.map(indent).min().unwrap_or(0);
    let lines = raw.split('\n').map(|line| line.get(least..).unwrap_or_default().trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

/// The text without the indentation that all its lines have.
fn without_indent(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines = text.split('\n').filter(|line| !line.trim().is_empty());
    let least = lines.map(indent).min().unwrap_or(0);
    let lines = text.split('\n').map(|line| line.get(least..).unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The lines without the first and the last one, where these are blank.
fn inner_lines(text: &str) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let first = usize::from(lines.first().is_some_and(|line| line.trim().is_empty()));
    lines[first..].join("\n")
}

fn unescaped(raw: &str, language: Language, quote: &str) -> String {
    let (mut text, mut rest) = (String::new(), raw.chars().peekable());
    while let Some(letter) = rest.next() {
        let next = if letter == '\\' { rest.next() } else { None };
        match next {
            None => text.push(letter),
            Some(next @ ('\\' | '\'')) => text.push(next),
            Some(next) if language == Language::Php && quote == "'" => text.extend(['\\', next]),
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('\n') => {}
            Some('s') if language == Language::Java => text.push(' '),
            Some('x') => text.extend(number(&mut rest, 16, 2)),
            Some('u') => {
                let is_open = rest.next_if_eq(&'{').is_some();
                text.extend(number(&mut rest, 16, if is_open { 6 } else { 4 }));
                rest.next_if(|c| is_open && *c == '}');
            }
            Some('0') => text.push('\0'),
            Some(next @ ('"' | '`' | '$')) => text.push(next),
            Some(next) if matches!(language, Language::Php | Language::Python) => {
                text.extend(['\\', next]);
            }
            Some(next) => text.push(next),
        }
    }
    text
}

/// The letter with this number in the next digits.
fn number(rest: &mut Peekable<Chars<'_>>, radix: u32, most: usize) -> Option<char> {
    let mut digits = String::new();
    while let Some(digit) = rest.next_if(|c| digits.len() < most && c.is_digit(radix)) {
        digits.push(digit);
    }
    char::from_u32(u32::from_str_radix(&digits, radix).ok()?)
}
