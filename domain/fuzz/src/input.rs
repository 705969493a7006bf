//! Bytes as a source of choices. Once they are used up, every choice is the first one.

pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// A number: a small one, one at a limit, or any.
    pub(crate) fn number(&mut self) -> i64 {
        match self.byte() {
            byte @ 0..128 => i64::from(byte) - 8,
            128 => i64::MAX,
            129 => i64::MIN,
            130..160 => i64::MAX - i64::from(self.byte()),
            160..170 => i64::MIN + i64::from(self.byte()),
            170..200 => 1_795_000_000_000 + i64::from(self.byte()) * 77_777,
            _ => i64::from_le_bytes(std::array::from_fn(|_| self.byte())),
        }
    }

    /// Up to 15 bytes.
    pub(crate) fn word(&mut self) -> &'a [u8] {
        let length = usize::from(self.below(16)).min(self.0.len());
        let (word, rest) = self.0.split_at(length);
        self.0 = rest;
        word
    }

    /// All remaining bytes.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}
