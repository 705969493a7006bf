//! Texts that others wrote, for a line of the log or of an error.

/// In one line, and without what a terminal would obey.
pub fn sanitize(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").replace(|letter: char| letter.is_control(), "?")
}

/// An error and its causes, in one such line. Some errors repeat their cause in their own text.
pub fn told(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    sanitize(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind::ConnectionRefused};

    #[test]
    fn an_error_is_told_once() {
        let refused = Error::from(ConnectionRefused);
        let error = anyhow::Error::new(redis::RedisError::from(refused)).context("no server");
        assert_eq!(format!("{error:#}"), "no server: connection refused: connection refused");
        assert_eq!(told(&error), "no server: connection refused");
    }

    #[test]
    fn a_text_is_one_harmless_line() {
        assert_eq!(sanitize("it's\n  gone \x1b[31m"), "it's gone ?[31m");
    }
}
