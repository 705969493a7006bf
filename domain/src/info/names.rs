//! The settings that names of keys depend on, as `INFO seckill` shows them: written by the module,
//! and read by programs, which so need no right to `CONFIG GET`.

use super::{
    BUYERS_PREFIX, CONFIRMED_STREAM, DRAW_STREAM, Field, HASH_TAGS, ORDER_FIELDS, ORDER_STREAM,
    STOCK_PREFIX,
};
use crate::{fields, key_names};

/// The settings in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    pub stock_prefix: Vec<u8>,
    pub buyers_prefix: Vec<u8>,
    /// Empty: no orders are kept.
    pub order_stream: Vec<u8>,
    pub order_fields: Vec<u8>,
    pub keeps_confirmed: bool,
    /// Empty: no draws are kept.
    pub draw_stream: Vec<u8>,
    pub hash_tags: bool,
}

/// The defaults, outside of a cluster.
impl Default for Names {
    fn default() -> Self {
        Self {
            stock_prefix: key_names::STOCK_PREFIX.into(),
            buyers_prefix: key_names::BUYERS_PREFIX.into(),
            order_stream: key_names::ORDER_STREAM.into(),
            order_fields: fields::ORDER_FIELDS.into(),
            keeps_confirmed: true,
            draw_stream: key_names::DRAW_STREAM.into(),
            hash_tags: false,
        }
    }
}

impl Names {
    /// The fields with their values, in the order shown.
    pub fn write(&self) -> [(&'static Field, String); 7] {
        let is = |is| if is { "yes" } else { "no" }.to_owned();
        [
            (&STOCK_PREFIX, escaped(&self.stock_prefix)),
            (&BUYERS_PREFIX, escaped(&self.buyers_prefix)),
            (&ORDER_STREAM, escaped(&self.order_stream)),
            (&ORDER_FIELDS, escaped(&self.order_fields)),
            (&CONFIRMED_STREAM, is(self.keeps_confirmed)),
            (&DRAW_STREAM, escaped(&self.draw_stream)),
            (&HASH_TAGS, is(self.hash_tags)),
        ]
    }

    /// Reads a reply of `INFO seckill`, or of more sections. None if it lacks a field: the module
    /// is not loaded.
    pub fn read(info: &str) -> Option<Self> {
        let text = |field: &Field| {
            let name = field.name.to_str().ok()?;
            let ours = info.lines().filter_map(|line| line.strip_prefix("seckill_"));
            ours.filter_map(|line| line.strip_prefix(name)?.strip_prefix(':')).next()
        };
        let bytes = |field| unescaped(text(field)?.trim_end());
        Some(Self {
            stock_prefix: bytes(&STOCK_PREFIX)?,
            buyers_prefix: bytes(&BUYERS_PREFIX)?,
            order_stream: bytes(&ORDER_STREAM)?,
            order_fields: bytes(&ORDER_FIELDS)?,
            keeps_confirmed: text(&CONFIRMED_STREAM)?.trim_end() == "yes",
            draw_stream: bytes(&DRAW_STREAM)?,
            hash_tags: text(&HASH_TAGS)?.trim_end() == "yes",
        })
    }
}

/// Printable ASCII as it is, but a backslash as two; any other byte as `\xhh`, and so are spaces at
/// the ends, which readers of lines cut off.
fn escaped(bytes: &[u8]) -> String {
    let last = bytes.len().saturating_sub(1);
    let mut text = String::with_capacity(bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\\' => text.push_str("\\\\"),
            b' ' if at > 0 && at < last => text.push(' '),
            b'!'..=b'~' => text.push(char::from(*byte)),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text
}

/// What [`escaped`] was given; none if it never writes this.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        (rest, _) = match (byte, behind) {
            (b'\\', [b'\\', behind @ ..]) => (behind, bytes.push(b'\\')),
            (b'\\', [b'x', high, low, behind @ ..]) => {
                let digits = [*high, *low];
                let byte = u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?;
                (behind, bytes.push(byte))
            }
            (b'\\', _) => return None,
            (byte, behind) => (behind, bytes.push(*byte)),
        };
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Names, escaped, unescaped};

    fn info(names: &Names) -> String {
        let line = |(field, value): &(&super::Field, String)| {
            format!("seckill_{}:{value}\r\n", field.name.to_str().unwrap())
        };
        format!(
            "# seckill\r\nseckill_tries_accepted:3\r\n{}",
            names.write().iter().map(line).collect::<String>()
        )
    }

    #[test]
    fn names_are_read_as_written() {
        let odd = Names {
            stock_prefix: b"a\r\nseckill_hash_tags:yes\r\n".into(),
            buyers_prefix: b"\\x41 \\".into(),
            order_stream: Vec::new(),
            order_fields: b" a b c ".into(),
            keeps_confirmed: false,
            draw_stream: (0..=255).collect(),
            hash_tags: false,
        };
        for names in [Names::default(), Names { hash_tags: true, ..Names::default() }, odd] {
            let shown = info(&names);
            assert_eq!(shown.lines().count(), 9, "{shown}");
            assert!(
                shown.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\r' | b'\n')),
                "{shown}"
            );
            assert_eq!(Names::read(&shown), Some(names));
        }
        assert_eq!(Names::read("# seckill\r\nseckill_tries_accepted:3\r\n"), None);
    }

    #[test]
    fn what_is_never_written_is_not_read() {
        assert_eq!(escaped(b"s: \n\\"), "s: \\x0a\\\\");
        for text in ["\\", "a\\", "\\n", "\\x4", "\\xzz"] {
            assert_eq!(unescaped(text), None, "{text}");
        }
    }
}
