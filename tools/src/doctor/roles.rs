//! What the user says of the script's KEYS and ARGV, for scripts that can't be seen through.

use std::collections::BTreeMap;

use crate::source::Source;
use crate::template::Slot;

/// Which slot is what, as far as it was said.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Roles {
    keys: Option<Vec<String>>,
    args: Option<Vec<String>>,
    /// Slots that always hold the same, from words such as `=100`.
    pub fixed: BTreeMap<Slot, Vec<u8>>,
}

const OF_KEYS: [&str; 7] = ["stock", "buyers", "stream", "lock", "voucher", "user", "-"];
const OF_ARGS: [&str; 7] = ["voucher", "user", "order", "units", "lock", "token", "-"];

impl Roles {
    /// From `--keys "stock buyers stream"` and `--argv "voucher user order =100"`.
    pub fn new(keys: Option<&str>, args: Option<&str>) -> Result<Self, String> {
        let mut roles = Self::default();
        if let Some(keys) = keys {
            roles.keys = Some(roles.words("--keys", keys, &OF_KEYS, Slot::Key)?);
        }
        if let Some(args) = args {
            roles.args = Some(roles.words("--argv", args, &OF_ARGS, Slot::Arg)?);
        }
        Ok(roles)
    }

    fn words(
        &mut self,
        option: &str,
        text: &str,
        known: &[&str],
        slot: fn(usize) -> Slot,
    ) -> Result<Vec<String>, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        for (index, word) in words.iter().enumerate() {
            if let Some(value) = word.strip_prefix('=') {
                self.fixed.insert(slot(index + 1), value.into());
            } else if !known.contains(&word.as_str()) {
                return Err(format!("{option}: {word} is none of {} =text", known.join(" ")));
            }
        }
        Ok(words)
    }

    /// Every slot of a call, KEYS first.
    pub fn slots(&self, source: &Source) -> Vec<Slot> {
        let keys = self.keys.as_ref().map_or(source.keys, Vec::len);
        let args = self.args.as_ref().map_or(source.args, Vec::len);
        (1..=keys.min(9)).map(Slot::Key).chain((1..=args.min(9)).map(Slot::Arg)).collect()
    }

    pub fn key(&self, role: &str) -> Option<Slot> {
        Self::position(self.keys.as_ref(), role).map(Slot::Key)
    }

    pub fn arg(&self, role: &str) -> Option<Slot> {
        Self::position(self.args.as_ref(), role).map(Slot::Arg)
    }

    pub fn slot(&self, role: &str) -> Option<Slot> {
        self.key(role).or_else(|| self.arg(role))
    }

    fn position(words: Option<&Vec<String>>, role: &str) -> Option<usize> {
        words?.iter().position(|word| word == role).map(|index| index + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_roles_or_values() {
        let roles = Roles::new(Some("stock buyers"), Some("user - =100")).unwrap();
        assert_eq!(roles.key("buyers"), Some(Slot::Key(2)));
        assert_eq!(roles.slot("user"), Some(Slot::Arg(1)));
        assert_eq!(roles.slot("order"), None);
        assert_eq!(roles.fixed.get(&Slot::Arg(3)), Some(&b"100".to_vec()));
        assert!(Roles::new(None, Some("voucher buyer")).is_err());
    }
}
