//! Reading what is large in pieces, so that nobody waits for it.

use redis::RedisResult;

use crate::connection::Connection;

const PIECE: u32 = 1_000;

/// All items of a hash (`HSCAN`) or a set (`SSCAN`). Those that come or go meanwhile may be among
/// them or not.
pub async fn items(link: &mut Connection, command: &str, key: &str) -> RedisResult<Vec<Vec<u8>>> {
    let (mut cursor, mut all) = ("0".to_owned(), Vec::new());
    loop {
        let mut scan = redis::cmd(command);
        scan.arg(key).arg(&cursor).arg("COUNT").arg(PIECE);
        let (next, items): (String, Vec<Vec<u8>>) = scan.query_async(link).await?;
        all.extend(items);
        if next == "0" {
            return Ok(all);
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
