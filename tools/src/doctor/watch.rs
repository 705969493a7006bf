//! Calls a script with marks on an empty server, and plants what it reads until it sells.

use anyhow::Result;

use crate::reply::Reply;
use crate::source::Source;
use crate::template::Slot;
use crate::trace::{Call, Watch};

/// What is planted as a stock: more than any mark, since a mark may be asked for as units.
const PLENTY: &[u8] = b"900000000000";
const RUNS_MAX: usize = 24;

/// A key, or a field of a hash, that held [`PLENTY`].
pub type Planted = (Vec<u8>, Option<Vec<u8>>);

/// One run on marks.
pub struct Run {
    pub planted: Vec<Planted>,
    pub reply: Reply,
    pub calls: Vec<Call>,
}

/// Units taken from a key or a field.
pub struct Deduction<'a> {
    pub key: &'a [u8],
    pub field: Option<&'a [u8]>,
    pub units: Vec<u8>,
}

/// What a call takes away, if it does: `DECR`, `INCRBY key -1`, `HINCRBY`, or a smaller `SET`.
pub fn deduction(call: &Call) -> Option<Deduction<'_>> {
    let word = |at: usize| call.get(at).map(Vec::as_slice);
    let negative = |text: &[u8]| text.strip_prefix(b"-").map(<[u8]>::to_vec);
    let key = word(1)?;
    let (field, units) = match call.first()?.as_slice() {
        b"DECR" => (None, b"1".to_vec()),
        b"DECRBY" => (None, word(2)?.to_vec()),
        b"INCRBY" | b"INCRBYFLOAT" => (None, negative(word(2)?)?),
        b"HINCRBY" | b"HINCRBYFLOAT" => (word(2), negative(word(3)?)?),
        b"SET" | b"GETSET" => (None, less_than_plenty(word(2)?)?),
        b"HSET" => (word(2), less_than_plenty(word(3)?)?),
        _ => return None,
    };
    Some(Deduction { key, field, units })
}

fn less_than_plenty(text: &[u8]) -> Option<Vec<u8>> {
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<f64>().ok();
    let gone = number(PLENTY)? - number(text)?;
    // Plenty less some units, and not just any number.
    (gone > 0.0 && gone < 1e10).then(|| format!("{gone:.0}").into_bytes())
}

/// The keys and fields that a call reads as a number, or could.
fn read(call: &Call) -> Vec<Planted> {
    let name = call.first().map(Vec::as_slice).unwrap_or_default();
    let keys = call.get(1..).unwrap_or_default();
    let first = |field: bool| match (keys.first(), keys.get(1)) {
        (Some(key), Some(name)) if field => vec![(key.clone(), Some(name.clone()))],
        (Some(key), _) if !field => vec![(key.clone(), None)],
        _ => Vec::new(),
    };
    match name {
        b"GET" | b"DECR" | b"DECRBY" | b"INCRBY" | b"GETSET" | b"GETEX" => first(false),
        b"EXISTS" | b"MGET" => keys.iter().map(|key| (key.clone(), None)).collect(),
        b"HGET" | b"HINCRBY" | b"HEXISTS" | b"HMGET" => first(true),
        _ => Vec::new(),
    }
}

impl Run {
    /// Whether it took units from what was planted.
    pub fn deducts(&self) -> bool {
        self.calls.iter().filter_map(deduction).any(|taken| {
            let planted = (taken.key.to_vec(), taken.field.map(<[u8]>::to_vec));
            self.planted.contains(&planted)
        })
    }

    fn score(&self) -> (bool, bool, usize) {
        (self.deducts(), !self.reply.is_error(), self.calls.len())
    }
}

/// The run that came nearest to a sale, of those with one more thing planted each time.
pub fn nearest_to_a_sale(
    watch: &mut Watch,
    source: &Source,
    slots: &[Slot],
    value: &impl Fn(Slot) -> Vec<u8>,
) -> Result<Run> {
    let call = eval(&source.text, slots, value);
    let mut waiting: Vec<Vec<Planted>> = vec![Vec::new()];
    let mut runs: Vec<Run> = Vec::new();
    while runs.len() < RUNS_MAX && runs.len() < waiting.len() {
        let planted = waiting[runs.len()].clone();
        plant(watch, &planted)?;
        let seen = watch.run(&call)?;
        for more in seen.calls.iter().flat_map(read) {
            let mut next = planted.clone();
            if !next.contains(&more) && next.len() < 3 {
                next.push(more);
                if !waiting.contains(&next) {
                    waiting.push(next);
                }
            }
        }
        runs.push(Run { planted, reply: seen.reply, calls: seen.calls });
        if runs.last().is_some_and(|run| run.deducts() && !run.reply.is_error()) {
            break;
        }
    }
    // The first of equals, which has the least planted.
    runs.reverse();
    Ok(runs.into_iter().max_by_key(Run::score).expect("the first run is always made"))
}

fn plant(watch: &mut Watch, planted: &[Planted]) -> Result<()> {
    watch.client.must(&["FLUSHALL"])?;
    for (key, field) in planted {
        match field {
            // A key can't be both; the second way is left out.
            Some(field) => watch.client.call(&[b"HSET", key.as_slice(), field, PLENTY])?,
            None => watch.client.call(&[b"SET", key.as_slice(), PLENTY])?,
        };
    }
    Ok(())
}

/// The command that runs a script.
pub fn eval(script: &[u8], slots: &[Slot], value: &impl Fn(Slot) -> Vec<u8>) -> Vec<Vec<u8>> {
    let keys = slots.iter().filter(|slot| matches!(slot, Slot::Key(_))).count();
    let mut call = vec![b"EVAL".to_vec(), script.to_vec(), keys.to_string().into_bytes()];
    call.extend(slots.iter().map(|slot| value(*slot)));
    call
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(line: &str) -> Option<String> {
        let call: Call = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        deduction(&call).map(|taken| String::from_utf8(taken.units).unwrap())
    }

    #[test]
    fn units_are_taken_in_many_ways() {
        assert_eq!(units("DECR s").as_deref(), Some("1"));
        assert_eq!(units("DECRBY s 3").as_deref(), Some("3"));
        assert_eq!(units("INCRBY s -1").as_deref(), Some("1"));
        assert_eq!(units("HINCRBY h f -2").as_deref(), Some("2"));
        assert_eq!(units("SET s 899999999999").as_deref(), Some("1"));
        for other in ["INCRBY s 1", "SET s 1", "SET s x", "GET s", "DECR", "SADD b u"] {
            assert_eq!(units(other), None, "{other}");
        }
    }
}
