//! The one way in which a program prints what others wrote: lines of scripts, names of fields and
//! files, ids, labels, errors of a server.

/// The text in one line, without a character that a terminal obeys or that no reader sees. Nothing
/// is lost: `\` is doubled, a byte is `\xHH`, a character `\u{H}`, and the usual ones are `\n`,
/// `\r` and `\t`. Spaces stay as they are.
pub fn sanitize_bytes(text: &[u8]) -> String {
    let mut line = String::new();
    for piece in text.utf8_chunks() {
        for letter in piece.valid().chars() {
            match letter {
                '\\' => line.push_str(r"\\"),
                '\n' | '\r' | '\t' => line.extend(letter.escape_default()),
                '\0'..=' ' | '\x7f' if letter != ' ' => {
                    line += &format!("\\x{:02x}", u32::from(letter));
                }
                letter if is_hidden(letter) => line.extend(letter.escape_unicode()),
                letter => line.push(letter),
            }
        }
        for byte in piece.invalid() {
            line += &format!("\\x{byte:02x}");
        }
    }
    line
}

/// The same for text.
pub fn sanitize(text: &str) -> String {
    sanitize_bytes(text.as_bytes())
}

/// Whether a terminal would obey a character, or no reader would see it: controls, marks of
/// direction and format, fillers, variation selectors and every space but the usual one.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || letter.is_whitespace() && letter != ' '
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_escaped_and_the_rest_stays() {
        for (text, line) in [
            (&b"it's\n gone \x1b[31m"[..], r"it's\n gone \x1b[31m"),
            (
                "\u{5238} \u{202e}\u{200b}\u{3000}".as_bytes(),
                "\u{5238} \\u{202e}\\u{200b}\\u{3000}",
            ),
            (b"\x00\r\x7f\xff\xc2\x85\\", r"\x00\r\x7f\xff\u{85}\\"),
        ] {
            assert_eq!(sanitize_bytes(text), line);
        }
        let labels = ["sale:1", "sale:1 ", "sale:1\n", "sale:1\\n", "sale:1\u{a0}"].map(sanitize);
        assert!(labels.iter().enumerate().all(|(at, label)| !labels[..at].contains(label)));
    }

    /// No line of a letter or byte is the beginning of another's: each line is of one text alone.
    #[test]
    fn nothing_is_lost_and_nothing_hidden_passes() {
        let letters = ('\0'..=char::MAX).filter(|letter| is_hidden(*letter) || letter.is_ascii());
        let letters = letters.map(|letter| sanitize(&letter.to_string()));
        let bytes = (0x80..=0xff).map(|byte| sanitize_bytes(&[byte]));
        let mut lines: Vec<String> = letters.chain(bytes).collect();
        assert!(!lines.concat().chars().any(is_hidden));
        lines.sort_unstable();
        for pair in lines.windows(2) {
            assert!(!pair[1].starts_with(&pair[0]), "{pair:?}");
        }
    }
}
