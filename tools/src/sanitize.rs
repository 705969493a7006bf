//! Texts that others wrote, for a line of the log or of an error.

/// In one line, and without what a terminal would obey.
pub fn sanitize(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").replace(|letter: char| letter.is_control(), "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_harmless_line() {
        assert_eq!(sanitize("it's\n  gone \x1b[31m"), "it's gone ?[31m");
    }
}
