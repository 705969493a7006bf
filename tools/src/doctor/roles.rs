//! What the user says about the script's KEYS and ARGV.

use std::collections::BTreeMap;

use crate::source::Source;
use crate::template::Slot;

/// The roles of slots, as far as the user named them.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Roles {
    keys: Option<Vec<String>>,
    args: Option<Vec<String>>,
}

const WORDS: [&str; 12] = [
    "stock", "buyers", "stream", "lock", "token", "voucher", "user", "order", "units", "request",
    "counter", "changes",
];

impl Roles {
    /// From `--keys "stock buyers stream"` and `--argv "voucher user order =100"`.
    pub fn new(keys: Option<&str>, args: Option<&str>) -> Result<Self, String> {
        let words = |option: &str, text: Option<&str>| -> Result<Option<Vec<String>>, String> {
            let Some(text) = text else { return Ok(None) };
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            let known = |word: &&String| {
                WORDS.contains(&word.as_str()) || *word == "-" || word.starts_with('=')
            };
            match words.iter().find(|word| !known(word)) {
                Some(word) => {
                    Err(format!("{option}: {word} is none of {} - =text", WORDS.join(" ")))
                }
                None => Ok(Some(words)),
            }
        };
        Ok(Self { keys: words("--keys", keys)?, args: words("--argv", args)? })
    }

    /// Every slot of a call, KEYS first. A JSON argument is replaced by its fields, unless the user
    /// says what it is.
    pub fn slots(&self, source: &Source) -> Vec<Slot> {
        let keys = self.keys.as_ref().map_or(source.keys, Vec::len);
        let args = self.args.as_ref().map_or(source.args, Vec::len);
        let mut slots: Vec<Slot> = (1..=keys.min(20)).map(Slot::Key).collect();
        let fields = source.fields();
        for number in 1..=args.min(20) {
            let said = self.word(Slot::Arg(number)).is_some();
            let of_it = fields.iter().filter(|field| field.arg == number && !said);
            let before = slots.len();
            slots.extend(of_it.copied().map(Slot::Field));
            if slots.len() == before {
                slots.push(Slot::Arg(number));
            }
        }
        slots
    }

    pub fn word(&self, slot: Slot) -> Option<&str> {
        let (words, number) = match slot {
            Slot::Key(number) => (&self.keys, number),
            Slot::Arg(number) => (&self.args, number),
            Slot::Field(_) => return None,
        };
        let word = words.as_ref()?.get(number - 1)?.as_str();
        (word != "-").then_some(word)
    }

    /// Slots with a constant value, from words such as `=100`.
    pub fn fixed(&self) -> BTreeMap<Slot, Vec<u8>> {
        let all = |words: &Option<Vec<String>>, slot: fn(usize) -> Slot| -> Vec<_> {
            let words = words.iter().flatten().enumerate();
            let fixed = words.filter_map(|(at, word)| {
                Some((slot(at + 1), word.strip_prefix('=')?.as_bytes().to_vec()))
            });
            fixed.collect()
        };
        let mut fixed = all(&self.keys, Slot::Key);
        fixed.extend(all(&self.args, Slot::Arg));
        fixed.into_iter().collect()
    }

    pub fn slot(&self, role: &str) -> Option<Slot> {
        let at = |words: &Option<Vec<String>>, slot: fn(usize) -> Slot| {
            words.as_ref()?.iter().position(|word| word == role).map(|at| slot(at + 1))
        };
        at(&self.keys, Slot::Key).or_else(|| at(&self.args, Slot::Arg))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_roles_or_values() {
        let roles = Roles::new(Some("stock buyers"), Some("user - =100 changes")).unwrap();
        assert_eq!(roles.slot("buyers"), Some(Slot::Key(2)));
        assert_eq!(roles.slot("user"), Some(Slot::Arg(1)));
        assert_eq!(roles.slot("order"), None);
        assert_eq!(roles.word(Slot::Arg(2)), None);
        assert_eq!(roles.word(Slot::Arg(4)), Some("changes"));
        assert_eq!(roles.fixed().get(&Slot::Arg(3)), Some(&b"100".to_vec()));
        assert!(Roles::new(None, Some("voucher buyer")).is_err());
    }
}
