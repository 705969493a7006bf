//! Reading what is large in pieces, so that nobody waits for it.

use anyhow::Result;

use crate::connection::Connection;

const PIECE: u32 = 1_000;

/// Looks at `N` items of a hash (`HSCAN`, 2) or a set (`SSCAN`, 1) at a time. Those that come or go
/// meanwhile may be among them or not.
pub async fn each<const N: usize>(
    link: &Connection,
    command: &str,
    key: &str,
    mut look: impl FnMut(&[Vec<u8>; N]) -> Result<()>,
) -> Result<()> {
    let (mut link, mut cursor) = (link.clone(), "0".to_owned());
    loop {
        let mut scan = redis::cmd(command);
        scan.arg(key).arg(&cursor).arg("COUNT").arg(PIECE);
        let (next, items): (String, Vec<Vec<u8>>) = scan.query_async(&mut link).await?;
        items.as_chunks().0.iter().try_for_each(&mut look)?;
        if next == "0" {
            return Ok(());
        }
        cursor = next;
    }
}

/// `text` for a pattern of SCAN, none of it a wildcard.
pub fn literal(text: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(text.len());
    for byte in text {
        if b"*?[]\\^".contains(byte) {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_wildcard_is_left() {
        assert_eq!(literal(br"a*[b]\"), br"a\*\[b\]\\");
    }
}
