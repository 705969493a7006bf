//! What happens to an order when a consumer gives its entry up, and what the dead letter says.

use crate::book::State;
use crate::entry_id::EntryId;
use crate::integer;
use crate::stream_entry::Value;

const STREAM: &[u8] = b"dlqStream";
const GROUP: &[u8] = b"dlqGroup";
const ID: &[u8] = b"dlqId";
const DELIVERIES: &[u8] = b"dlqDeliveries";
const REASON: &[u8] = b"dlqReason";
const ORDER: &[u8] = b"dlqOrder";
const WAS: &[u8] = b"dlqWas";

/// What happens to the order of a rejected entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is released.
    Rejected,
    /// It was released before.
    Released,
    /// No live order with this id and user is on record.
    Unknown,
}

impl Fate {
    pub const ALL: [Self; 3] = [Self::Rejected, Self::Released, Self::Unknown];

    /// The word in the dead letter.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Released => "released",
            Self::Unknown => "unknown",
        }
    }

    pub fn parse(word: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|fate| fate.word().as_bytes() == word)
    }
}

/// What a dead letter says behind the fields of its entry: where that was, and what became of it.
/// Another program may have written less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadLetter<V> {
    pub stream: Option<V>,
    pub group: V,
    /// The entry in that stream.
    pub id: EntryId,
    /// How often it had been delivered.
    pub deliveries: Option<i64>,
    /// Why the consumer gave it up.
    pub reason: Option<V>,
    pub fate: Option<Fate>,
    /// The state of its order before.
    pub was: Option<State>,
}

impl<V: Copy> DeadLetter<V> {
    /// Its own fields, in their order: they are the last ones of the letter.
    pub fn write(&self, mut write: impl FnMut(&'static [u8], Value<V>)) {
        let mut say = |name, value: Option<Value<V>>| {
            if let Some(value) = value {
                write(name, value);
            }
        };
        say(STREAM, self.stream.map(Value::Text));
        say(GROUP, Some(Value::Text(self.group)));
        say(ID, Some(Value::Id(self.id)));
        say(DELIVERIES, self.deliveries.map(Value::Number));
        say(REASON, self.reason.map(Value::Text));
        say(ORDER, self.fate.map(|fate| Value::Word(fate.word())));
        say(WAS, self.was.map(|was| Value::Word(was.word())));
    }
}

impl<V: Copy + AsRef<[u8]>> DeadLetter<V> {
    /// Reads the fields of an entry of a stream of dead letters, names and values in turn. The
    /// last one of a name counts, since its entry can have fields of these names, too. None if it
    /// does not say which entry of which group that was: any other value that is none is left out.
    pub fn read(fields: &[V]) -> Option<Self> {
        let (pairs, []) = fields.as_chunks() else { return None };
        let one = |name: &[u8]| {
            let [_, value] = pairs.iter().rev().find(|[other, _]| other.as_ref() == name)?;
            Some(*value)
        };
        Some(Self {
            stream: one(STREAM),
            group: one(GROUP)?,
            id: EntryId::parse(one(ID)?.as_ref())?,
            deliveries: one(DELIVERIES)
                .and_then(|text| integer::parse(text.as_ref()))
                .filter(|deliveries| *deliveries >= 0),
            reason: one(REASON),
            fate: one(ORDER).and_then(|word| Fate::parse(word.as_ref())),
            was: one(WAS).and_then(|word| State::parse(word.as_ref())),
        })
    }
}
