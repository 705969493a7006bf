//! Sessions as redis-cli shows them, run against a server and compared line by line.
//!
//! A transcript is `> COMMAND args` lines (or `127.0.0.1:6379> `), each followed by the reply. One
//! of a single line may stand behind the command instead: `> GET k => 5`.
//!
//! | reply | what may stand there |
//! | --- | --- |
//! | integer | `(integer) 4`, or `4` |
//! | string | `"with \"quotes\" and \xff"`, or bare when it is plain text |
//! | status | `OK` |
//! | null, error | `(nil)`, `(error) ERR text` |
//! | array | `1) ...` with redis-cli's indents, or `(empty array)` |
//!
//! Stream ids made by the clock compare as equal, as do ids of sales, and ids of SECKILL.NEXTID if
//! only their seconds differ. If a test allows it, `...` at the end of a line matches the rest of
//! that line.

use crate::aof::without_sale_ids;
use crate::harness::{Client, Server, text};
use redis::Value;

/// How strictly lines are compared.
#[derive(Clone, Copy, PartialEq)]
pub enum Lines {
    /// A line may end in `...`.
    Abridged,
    /// Every line is whole, as in the documentation.
    Whole,
}

impl Server {
    /// Runs a transcript on the server's own client; fails with the differing exchange.
    pub fn check(&self, transcript: &str) {
        self.own().check(transcript);
    }

    /// Runs one command, spelled as for redis-cli.
    pub fn run(&self, command: &str) -> Value {
        self.own().run(command)
    }

    /// The text of the reply to one command.
    pub fn say(&self, command: &str) -> String {
        self.own().say(command)
    }
}

impl Client {
    pub fn check(&mut self, transcript: &str) {
        if let Err(difference) = compare(self, transcript, Lines::Abridged) {
            panic!("{difference}");
        }
    }

    pub fn run(&mut self, command: &str) -> Value {
        self.call(&argv(command))
    }

    pub fn say(&mut self, command: &str) -> String {
        text(&self.run(command))
    }
}

/// Runs `transcript`; `Err` shows the first exchange that differs.
pub fn compare(client: &mut Client, transcript: &str, lines: Lines) -> Result<(), String> {
    for (command, expected) in exchanges(transcript) {
        let reply = client.run(command);
        compare_one(command, &expected, &reply, lines)?;
    }
    Ok(())
}

/// Runs a transcript, which shows RESP2, on a connection that uses RESP3. Replies of the module's
/// commands must be the same except that pairs are maps; those of other commands have other forms.
/// Returns the number of maps.
pub fn compare_in_resp3(client: &mut Client, transcript: &str) -> Result<usize, String> {
    let mut maps = 0;
    for (command, expected) in exchanges(transcript) {
        let reply = flat(client.run(command), &mut maps);
        let name = command.to_ascii_uppercase();
        if name.starts_with("SECKILL.") || name.starts_with("LOCK.") {
            compare_one(command, &expected, &reply, Lines::Whole)?;
        }
    }
    Ok(maps)
}

/// The reply as RESP2 has it. Counts its maps.
fn flat(reply: Value, maps: &mut usize) -> Value {
    match reply {
        Value::Map(pairs) => {
            *maps += 1;
            let parts = pairs.into_iter().flat_map(|(name, value)| [name, value]);
            Value::Array(parts.map(|part| flat(part, maps)).collect())
        }
        Value::Array(parts) => {
            Value::Array(parts.into_iter().map(|part| flat(part, maps)).collect())
        }
        other => other,
    }
}

fn compare_one(
    command: &str,
    expected: &[&str],
    reply: &Value,
    lines: Lines,
) -> Result<(), String> {
    let rendered = render(reply);
    let same = rendered.len() == expected.len()
        && rendered.iter().zip(expected).all(|(line, wanted)| line.matches(wanted, lines));
    if same {
        return Ok(());
    }
    let shown: Vec<_> = rendered.iter().map(Line::shown).collect();
    let (expected, shown) = (expected.join("\n"), shown.join("\n"));
    Err(format!("> {command}\nexpected:\n{expected}\ngot:\n{shown}"))
}

/// The commands of a transcript with the reply lines below each, without common indent.
pub(crate) fn exchanges(transcript: &str) -> Vec<(&str, Vec<&str>)> {
    let lines = || transcript.lines().filter(|line| !line.trim().is_empty());
    let indent = lines().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let mut exchanges: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in lines().map(|line| line[indent..].trim_end()) {
        match (prompted(line), exchanges.last_mut()) {
            (Some(command), _) => match command.split_once(" => ") {
                Some((command, reply)) => exchanges.push((command, vec![reply])),
                None => exchanges.push((command, Vec::new())),
            },
            (None, Some((_, reply))) => reply.push(line),
            (None, None) => panic!("a transcript starts with a command, not with: {line}"),
        }
    }
    assert!(!exchanges.is_empty(), "a transcript without a command");
    exchanges
}

/// The command after a prompt (`> `, `127.0.0.1:6379> `, `127.0.0.1:6379[1](TX)> `).
fn prompted(line: &str) -> Option<&str> {
    let (prompt, command) = line.split_once("> ")?;
    (prompt.is_empty() || prompt.starts_with("127.0.0.1:6379")).then_some(command)
}

/// One line of a rendered reply: a prefix such as `1) `, then one of some spellings.
struct Line {
    prefix: String,
    spellings: Vec<String>,
}

impl Line {
    fn matches(&self, wanted: &str, lines: Lines) -> bool {
        let Some(wanted) = wanted.strip_prefix(&self.prefix) else { return false };
        if let (Lines::Abridged, Some(start)) = (lines, wanted.strip_suffix("...")) {
            return self.spellings.iter().any(|spelling| spelling.starts_with(start));
        }
        self.spellings.iter().any(|spelling| same_but_for_clock(spelling, wanted))
    }

    fn shown(&self) -> String {
        format!("{}{}", self.prefix, self.spellings[0])
    }
}

fn same_but_for_clock(left: &str, right: &str) -> bool {
    let counter = counter_of_id(left);
    without_sale_ids(left) == without_sale_ids(right)
        || (is_clock_id(left) && is_clock_id(right))
        || (counter.is_some() && counter == counter_of_id(right))
}

/// The part below the second of an id that SECKILL.NEXTID has made, quoted or not.
fn counter_of_id(text: &str) -> Option<u64> {
    let bare = text.trim_matches('"');
    let id: u64 = bare.parse().ok()?;
    matches!(bare.len(), 18 | 19).then_some(id & 0xffff_ffff)
}

/// Is this a stream id that the clock has made, quoted or not?
fn is_clock_id(text: &str) -> bool {
    let bare = text.trim_matches('"');
    let Some((time, sequence)) = bare.split_once('-') else { return false };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    time.len() == 13 && digits(time) && digits(sequence)
}

fn render(reply: &Value) -> Vec<Line> {
    let leaf = |spellings: Vec<String>| vec![Line { prefix: String::new(), spellings }];
    match reply {
        Value::Nil => leaf(vec!["(nil)".into()]),
        Value::Int(number) => leaf(vec![format!("(integer) {number}"), number.to_string()]),
        Value::Boolean(flag) => leaf(vec![format!("({flag})")]),
        Value::Double(number) => leaf(vec![format!("(double) {number}")]),
        Value::BulkString(bytes) => leaf(spellings(bytes)),
        Value::ServerError(_) => leaf(vec![format!("(error) {}", text(reply))]),
        Value::Array(items) if items.is_empty() => leaf(vec!["(empty array)".into()]),
        Value::Set(items) if items.is_empty() => leaf(vec!["(empty set)".into()]),
        Value::Map(pairs) if pairs.is_empty() => leaf(vec!["(empty hash)".into()]),
        Value::Array(items) => render_list(items, ')'),
        Value::Set(items) => render_list(items, '~'),
        Value::Map(pairs) => render_map(pairs),
        other => leaf(vec![text(other)]),
    }
}

fn render_list(items: &[Value], mark: char) -> Vec<Line> {
    let width = items.len().to_string().len();
    let mut lines = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let head = format!("{:>width$}{mark} ", index + 1);
        indent(&mut lines, &head, render(item));
    }
    lines
}

fn render_map(pairs: &[(Value, Value)]) -> Vec<Line> {
    let width = pairs.len().to_string().len();
    let mut lines = Vec::new();
    for (index, (key, value)) in pairs.iter().enumerate() {
        let key = render(key).remove(0).shown();
        let head = format!("{:>width$}# {key} => ", index + 1);
        indent(&mut lines, &head, render(value));
    }
    lines
}

/// Puts `head` before the first line and spaces of the same width before the others.
fn indent(lines: &mut Vec<Line>, head: &str, below: Vec<Line>) {
    let room = " ".repeat(head.len());
    for (index, mut line) in below.into_iter().enumerate() {
        line.prefix.insert_str(0, if index == 0 { head } else { &room });
        lines.push(line);
    }
}

/// A string as redis-cli quotes it and, if it needs no quotes, bare.
fn spellings(bytes: &[u8]) -> Vec<String> {
    let mut quoted = String::from("\"");
    for &byte in bytes {
        match byte {
            b'\\' | b'"' => quoted.extend(['\\', char::from(byte)]),
            b'\n' => quoted += "\\n",
            b'\r' => quoted += "\\r",
            b'\t' => quoted += "\\t",
            0x07 => quoted += "\\a",
            0x08 => quoted += "\\b",
            b' '..=b'~' => quoted.push(char::from(byte)),
            other => quoted += &format!("\\x{other:02x}"),
        }
    }
    quoted.push('"');
    let plain = !bytes.is_empty() && bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
    let bare = plain.then(|| String::from_utf8_lossy(bytes).into_owned());
    [quoted].into_iter().chain(bare).collect()
}

/// Splits a command line into arguments as redis-cli does: `"..."` with `\n`, `\xHH` and the like,
/// `'...'` with `\'`, or bare words.
pub fn argv(command: &str) -> Vec<Vec<u8>> {
    let mut bytes = command.bytes().peekable();
    let mut args = Vec::new();
    while let Some(first) = bytes.by_ref().find(|byte| !byte.is_ascii_whitespace()) {
        let mut arg = Vec::new();
        match first {
            b'"' => loop {
                match bytes.next().expect("a closing double quote") {
                    b'"' => break,
                    b'\\' => arg.push(escaped(&mut bytes)),
                    byte => arg.push(byte),
                }
            },
            b'\'' => loop {
                match bytes.next().expect("a closing single quote") {
                    b'\'' => break,
                    b'\\' if bytes.peek() == Some(&b'\'') => arg.extend(bytes.next()),
                    byte => arg.push(byte),
                }
            },
            byte => {
                arg.push(byte);
                while let Some(byte) = bytes.next_if(|byte| !byte.is_ascii_whitespace()) {
                    arg.push(byte);
                }
            }
        }
        args.push(arg);
    }
    args
}

fn escaped(bytes: &mut impl Iterator<Item = u8>) -> u8 {
    match bytes.next().expect("a character after the backslash") {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        b'x' => {
            let digits: String = bytes.take(2).map(char::from).collect();
            u8::from_str_radix(&digits, 16).expect("two hex digits after \\x")
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_become_bytes() {
        let words = argv(r#"SET "a \"b\" \x00\xff\n" 'it\'s \x41' "" end"#);
        let wanted: [&[u8]; 5] = [b"SET", b"a \"b\" \x00\xff\n", b"it's \\x41", b"", b"end"];
        assert_eq!(words, wanted);
    }

    #[test]
    fn replies_look_as_in_redis_cli() {
        let entry = Value::Array(vec![
            Value::BulkString(b"1722509999999-0".to_vec()),
            Value::Array(vec![Value::BulkString(b"a\xff".to_vec()), Value::Int(4)]),
        ]);
        let shown: Vec<_> = render(&Value::Array(vec![entry])).iter().map(Line::shown).collect();
        let wanted = ["1) 1) \"1722509999999-0\"", "   2) 1) \"a\\xff\"", "      2) (integer) 4"];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn a_wrong_reply_fails() {
        let server = Server::with().without_module().start();
        let compare = |transcript| compare(&mut server.own(), transcript, Lines::Whole);
        assert!(compare("> SET k 5\nOK\n> GET k\n5\n> GET k\n\"5\"\n> GET no\n(nil)").is_ok());
        assert!(compare("> INCR k\n(integer) 6\n> INCR k\n7\n").is_ok());
        assert!(compare("> GET k => 7\n> DEL no => 0").is_ok());
        for wrong in ["> GET k\n8", "> GET k", "> GET k => 7\n7", "> INCR k => (error) ERR ..."] {
            assert!(compare(wrong).is_err(), "{wrong}");
        }
    }
}
