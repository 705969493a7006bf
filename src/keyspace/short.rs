//! Names that are kept in place.

/// A name that is short enough to be kept without an allocation.
#[derive(Clone, Copy)]
pub(super) struct Short<const LEN_MAX: usize> {
    len: u8,
    bytes: [u8; LEN_MAX],
}

impl<const LEN_MAX: usize> Short<LEN_MAX> {
    pub(super) const EMPTY: Self = Self { len: 0, bytes: [0; LEN_MAX] };

    pub(super) fn new(name: &[u8]) -> Option<Self> {
        let mut short = Self { len: u8::try_from(name.len()).ok()?, ..Self::EMPTY };
        short.bytes.get_mut(..name.len())?.copy_from_slice(name);
        Some(short)
    }

    pub(super) fn is(&self, name: &[u8]) -> bool {
        self.bytes.get(..usize::from(self.len)) == Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::Short;

    #[test]
    fn a_name_is_kept_whole_or_not_at_all() {
        check_lengths::<47>();
        check_lengths::<115>();
    }

    fn check_lengths<const LEN_MAX: usize>() {
        let long = [b'x'; 512];
        for len in 0..=LEN_MAX {
            let name = &long[..len];
            let kept = Short::<LEN_MAX>::new(name).expect("it fits");
            assert!(kept.is(name));
            assert!(!kept.is(&long[..len + 1]));
            assert!(len == 0 || !kept.is(&long[..len - 1]));
        }
        assert!(Short::<LEN_MAX>::new(&long[..LEN_MAX + 1]).is_none());
        assert!(Short::<LEN_MAX>::new(&long[..256 + LEN_MAX]).is_none());
        assert!(!Short::<LEN_MAX>::EMPTY.is(b"\0"));
    }
}
