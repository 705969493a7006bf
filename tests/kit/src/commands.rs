//! The one table of the module's commands: `commands.txt`.

use crate::harness::text;
use redis::Value;
use std::iter::Peekable;
use std::str::Lines;

/// A call of a command in the world of the table.
pub struct Row {
    pub call: &'static str,
    pub answer: &'static str,
    /// The keys that it needs: with one of another type, it is refused.
    pub needs: Vec<String>,
    /// The plain commands that it writes.
    pub writes: Vec<&'static str>,
}

impl Row {
    pub fn name(&self) -> &'static str {
        self.call.split(' ').next().expect("a name")
    }
}

/// The table's lines behind its explanation.
fn lines() -> Peekable<Lines<'static>> {
    let (_, lines) = include_str!("commands.txt").split_once("\n\n> ").expect("a world");
    lines.lines().peekable()
}

/// The commands that make the world.
fn world() -> impl Iterator<Item = &'static str> {
    lines().take_while(|line| !line.is_empty()).map(|line| line.trim_start_matches("> "))
}

/// Every command, in at least one call.
pub fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in lines().skip_while(|line| !line.is_empty()).filter(|line| !line.is_empty()) {
        match (line.split_at(2), rows.last_mut()) {
            (("> ", exchange), _) => {
                let (call, answer) = exchange.split_once(" => ").expect("an answer");
                rows.push(Row { call, answer, needs: Vec::new(), writes: Vec::new() });
            }
            (("? ", keys), Some(row)) => row.needs.extend(keys.split(' ').map(|key| {
                let is_own = key.contains(':') && !key.contains(":fence");
                format!("{}{key}", if is_own { "seckill:" } else { "" })
            })),
            (("+ ", effect), Some(row)) => row.writes.push(effect),
            _ => panic!("no line of a table of commands: {line}"),
        }
    }
    rows
}

/// The world as it was made somewhere.
pub struct World {
    slot: String,
    sale: String,
    entries: Vec<String>,
    counter: String,
}

impl World {
    /// Makes the world where there is none, in the slot of a cluster, by commands that are sent to
    /// it.
    pub fn make(slot: Option<&str>, mut run: impl FnMut(&str) -> Value) -> Self {
        let slot = slot.map(|slot| format!("{{{slot}}}")).unwrap_or_default();
        let [sale, counter] = [String::new(), String::new()];
        let mut made = Self { slot, sale, entries: Vec::new(), counter };
        for command in world() {
            let answer = run(&made.named(command));
            assert!(!matches!(answer, Value::ServerError(_)), "{command}: {answer:?}");
        }
        let entries = run(&made.named("XRANGE stream.orders~ - + COUNT 2"));
        let entries: Vec<(String, Vec<(String, String)>)> =
            redis::from_redis_value(entries).expect("entries");
        made.entries = entries.into_iter().map(|(id, _)| id).collect();
        made.sale = text(&run(&made.named("GET seckill:last:@7")));
        // That of the date comes first if there are several, as in a cluster.
        let counters = run(&made.named("KEYS icr:@order:*"));
        let mut counters: Vec<String> = redis::from_redis_value(counters).expect("counters");
        counters.sort();
        made.counter = counters.into_iter().next().unwrap_or_default();
        made
    }

    /// A line of the table in this world.
    pub fn named(&self, line: &str) -> String {
        let stream = if self.slot.is_empty() { String::new() } else { format!(":{}", self.slot) };
        let line = line.replace('@', &self.slot).replace('~', &stream);
        let line = line.replace("COUNTER", &self.counter);
        let mut line = line.replace("SALE SALE", &format!("SALE {}", self.sale));
        for (word, entry) in ["g MANAGED", "g UNMANAGED"].iter().zip(&self.entries) {
            line = line.replace(word, &format!("g {entry}"));
        }
        line
    }
}

/// A reply in words, with nothing for a null.
pub fn in_words(reply: &Value) -> String {
    match reply {
        Value::Nil => String::new(),
        Value::Array(items) => {
            let words = items.iter().map(in_words).filter(|word| !word.is_empty());
            words.collect::<Vec<_>>().join(" ")
        }
        Value::ServerError(_) => format!("(error) {}", text(reply)),
        other => text(other).trim_end().to_owned(),
    }
}

/// Fails unless the words of a reply are those of the table: `*` is a word, or all that follow, but
/// not the code word of an error.
pub fn assert_answered(call: &str, wanted: &str, got: &str) {
    let mut words = got.split(' ');
    let all = wanted.split(' ').all(|word| match (word, words.next()) {
        ("*", Some(got)) => got.starts_with(|it: char| it != '(' && !it.is_ascii_uppercase()),
        (word, got) => got == Some(word),
    });
    let ends = wanted.ends_with('*') || words.next().is_none();
    assert!(all && ends, "{call}: {got}, not {wanted}");
}
