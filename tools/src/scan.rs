//! Patterns for SCAN.

/// `text` for a pattern, none of it a wildcard.
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
