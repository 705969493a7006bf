//! Where a cluster puts a key, and how a voucher's keys come to share a slot.
//!
//! The rule is the cluster specification's: if a key has a `{`, and a `}` behind the first `{`,
//! with something between, only what is between decides the slot; else the whole key does.

/// The part of `key` that decides its slot when that is not the whole key.
pub fn tag_of(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|byte| *byte == b'{')?;
    let behind = key.get(open.checked_add(1)?..)?;
    let close = behind.iter().position(|byte| *byte == b'}')?;
    let tag = behind.get(..close)?;
    (!tag.is_empty()).then_some(tag)
}

/// How a voucher is written into the names of its keys.
#[derive(Debug, PartialEq, Eq)]
pub enum Tagged<'v> {
    /// It has a tag of its own and is used unchanged.
    Own { tag: &'v [u8] },
    /// It has none, and is written in braces.
    Wrapped,
}

/// The voucher's braces would put its keys into another slot than the voucher itself.
#[derive(Debug, PartialEq, Eq)]
pub struct StrayBraces;

/// How to name the keys of `voucher` so that they are in the slot of the voucher itself.
///
/// Without a tag the voucher's slot is that of its whole text; in braces it keeps that slot as
/// long as the closing brace is the first one and there is something between.
pub fn tagged(voucher: &[u8]) -> Result<Tagged<'_>, StrayBraces> {
    if let Some(tag) = tag_of(voucher) {
        return Ok(Tagged::Own { tag });
    }
    if voucher.is_empty() || voucher.contains(&b'}') {
        return Err(StrayBraces);
    }
    Ok(Tagged::Wrapped)
}

#[cfg(test)]
mod tests {
    use super::{StrayBraces, Tagged, tag_of, tagged};

    #[test]
    fn a_tag_is_what_the_first_braces_hold() {
        let rows: [(&[u8], Option<&[u8]>); 9] = [
            (b"7", None),
            (b"{7}", Some(b"7")),
            (b"a{b}c{d}", Some(b"b")),
            (b"{}x{y}", None),
            (b"}{x}", Some(b"x")),
            (b"{{x}}", Some(b"{x")),
            (b"{x", None),
            (b"x}", None),
            (b"", None),
        ];
        for (key, want) in rows {
            assert_eq!(tag_of(key), want, "{:?}", String::from_utf8_lossy(key));
        }
    }

    #[test]
    fn vouchers_keep_wear_or_lack_a_tag() {
        assert_eq!(tagged(b"7"), Ok(Tagged::Wrapped));
        assert_eq!(tagged(b"a{b"), Ok(Tagged::Wrapped));
        assert_eq!(tagged(b"{shop3}:7"), Ok(Tagged::Own { tag: b"shop3" }));
        for stray in [&b"a}b"[..], b"{}x", b"}", b"a{}", b""] {
            assert_eq!(tagged(stray), Err(StrayBraces), "{:?}", String::from_utf8_lossy(stray));
        }
    }

    /// What decides the slot of `key`: equal parts, equal slots.
    fn decider(key: &[u8]) -> &[u8] {
        tag_of(key).unwrap_or(key)
    }

    #[test]
    fn derived_keys_are_in_the_slot_of_their_voucher() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..20_000 {
            let len = random.usize(..7);
            let voucher: Vec<u8> = (0..len).map(|_| *random.choice(b"{}ab").unwrap()).collect();
            let derived = match tagged(&voucher) {
                Err(StrayBraces) => continue,
                Ok(Tagged::Own { .. }) => [b"seckill:stock:", &voucher[..]].concat(),
                Ok(Tagged::Wrapped) => [b"seckill:stock:{", &voucher[..], b"}"].concat(),
            };
            assert_eq!(decider(&derived), decider(&voucher), "{voucher:?}");
        }
    }
}
