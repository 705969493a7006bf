//! What the user says about the script's KEYS and ARGV.

use std::collections::BTreeMap;

use crate::source::Source;
use crate::template::Slot;

/// The roles of slots, as far as the user named them.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Roles {
    /// Words of slots, except those that may be anything.
    words: BTreeMap<Slot, String>,
    /// How many KEYS and ARGV there are, if the user said so.
    keys: Option<usize>,
    args: Option<usize>,
}

const WORDS: [&str; 12] = [
    "stock", "buyers", "stream", "lock", "token", "voucher", "user", "order", "units", "request",
    "counter", "changes",
];

impl Roles {
    /// From `--keys "stock buyers stream"` and `--argv "voucher user order =100"`.
    pub fn new(keys: Option<&str>, args: Option<&str>) -> Result<Self, String> {
        let mut words = BTreeMap::new();
        let mut read = |option: &str, text: &str, slot: fn(usize) -> Slot| {
            for (at, word) in text.split_whitespace().enumerate() {
                if WORDS.contains(&word) || word.starts_with('=') {
                    words.insert(slot(at + 1), word.to_owned());
                } else if word != "-" {
                    return Err(format!("{option}: {word} is none of {} - =text", WORDS.join(" ")));
                }
            }
            Ok(text.split_whitespace().count())
        };
        let keys = keys.map(|text| read("--keys", text, Slot::Key)).transpose()?;
        let args = args.map(|text| read("--argv", text, Slot::Arg)).transpose()?;
        Ok(Self { words, keys, args })
    }

    /// Every slot of a call, KEYS first. A JSON argument is replaced by its fields, unless the user
    /// says what it is.
    pub fn slots(&self, source: &Source) -> Vec<Slot> {
        let (keys, args) = (self.keys.unwrap_or(source.keys), self.args.unwrap_or(source.args));
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
        self.words.get(&slot).map(String::as_str)
    }

    /// Slots with a constant value, from words such as `=100`.
    pub fn fixed(&self) -> BTreeMap<Slot, Vec<u8>> {
        let fixed = |(slot, word): (&Slot, &String)| Some((*slot, word.strip_prefix('=')?.into()));
        self.words.iter().filter_map(fixed).collect()
    }

    pub fn slot(&self, role: &str) -> Option<Slot> {
        self.words.iter().find_map(|(slot, word)| (word == role).then_some(*slot))
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
