//! The slot of a key in a cluster, and how a voucher's keys share a slot.
//!
//! The rule of the cluster specification: if a key has a `{`, and a `}` after the first `{`, with
//! something between, only the text between determines the slot; otherwise the whole key does.

/// The part of `key` that determines its slot; none if the whole key does.
pub fn tag_of(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|byte| *byte == b'{')?;
    let behind = key.get(open.checked_add(1)?..)?;
    let close = behind.iter().position(|byte| *byte == b'}')?;
    let tag = behind.get(..close)?;
    (!tag.is_empty()).then_some(tag)
}

/// How a voucher is written in the names of its keys.
#[derive(Debug, PartialEq, Eq)]
pub enum Tagged<'v> {
    /// It has a hash tag and is used unchanged.
    Own { tag: &'v [u8] },
    /// It has no hash tag, and is written in braces.
    Wrapped,
}

/// The voucher's braces would place its keys in another slot than the voucher itself.
#[derive(Debug, PartialEq, Eq)]
pub struct StrayBraces;

/// How to name the keys of `voucher` so that they are in the slot of the voucher itself.
///
/// Without a tag, the whole text of the voucher determines its slot. In braces it keeps that slot
/// if the added closing brace is the first one and the voucher is not empty.
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

    /// The text that determines the slot of `key`: equal texts have equal slots.
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
