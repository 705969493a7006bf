//! Command lines of programs with commands.

use std::ffi::OsString;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::Error;
use clap::{Command, Parser};

use crate::sanitize::is_hidden;
use crate::server_errors::with_causes;

/// The exit code for options that are refused, the same as clap's.
const WRONG: u8 = 2;

/// Reads an integer within bounds, which the error names as those of the module do.
pub fn number<N>(bounds: RangeInclusive<N>) -> impl Fn(&str) -> Result<N, String> + Clone
where
    N: FromStr + PartialOrd + Display + Clone,
{
    move |text| {
        let number = text.parse().ok().filter(|number| bounds.contains(number));
        number.ok_or_else(|| format!("must be {} to {}", bounds.start(), bounds.end()))
    }
}

/// A word of a command that is printed, for `sh`; without a character that a terminal obeys or that
/// no reader sees, which `printf` makes of its bytes.
pub fn quoted(word: &str) -> String {
    if word.chars().any(is_hidden) {
        let mut format = String::new();
        for letter in word.chars() {
            match letter {
                '%' => format.push_str("%%"),
                '\\' => format.push_str(r"\\"),
                '\'' => format.push_str(r"'\''"),
                // An option of printf, if it is the first letter.
                letter if is_hidden(letter) || letter == '-' && format.is_empty() => {
                    let bytes = letter.encode_utf8(&mut [0; 4]).bytes().collect::<Vec<_>>();
                    format.extend(bytes.iter().map(|byte| format!("\\{byte:03o}")));
                }
                letter => format.push(letter),
            }
        }
        return format!("\"$(printf '{format}')\"");
    }
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || "_./:@%+=,-{}#".contains(letter);
    // Braces with a comma or dots are expanded by some shells.
    let has_list = word.contains('{') && (word.contains(',') || word.contains(".."));
    let begins = word.starts_with(['#', '~', '=']);
    if !word.is_empty() && word.chars().all(is_plain) && !has_list && !begins {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The options of the command line, or the end of the program. Options can be on either side of a
/// command.
pub fn options_anywhere<P: Parser>() -> P {
    let command = P::command().mut_args(|arg| match arg.get_id().as_str() {
        "help" | "version" => arg,
        _ => arg.global(true),
    });
    P::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
}

/// Like `options_anywhere`, for commands that have only the options that they read: those before a
/// command are parsed as if they were behind it.
pub fn command_first<P: Parser>() -> P {
    P::parse_from(with_command_first(&P::command(), std::env::args_os().collect()))
}

/// The words of a command line, with the command before its options.
pub fn with_command_first(command: &Command, mut words: Vec<OsString>) -> Vec<OsString> {
    let finder = Command::new("finder")
        .args(command.get_arguments().cloned())
        .allow_external_subcommands(true);
    if let Ok(found) = finder.try_get_matches_from(&words)
        && let Some((_, rest)) = found.subcommand()
        && let Some(rest) = rest.get_many::<OsString>("")
        && let Some(at) = words.len().checked_sub(rest.len() + 1)
    {
        words[1..=at].rotate_right(1);
    }
    words
}

/// Prints in one line why the program refuses its options, or can't begin.
pub fn refused(program: &str, error: &Error) -> ExitCode {
    eprintln!("{program}: {}", with_causes(error));
    ExitCode::from(WRONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_read_more() {
        for (word, wanted) in [
            ("1001", "1001"),
            ("redis://h:6379/", "redis://h:6379/"),
            ("a b", "'a b'"),
            ("$(id)", "'$(id)'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
            ("{a,b}", "'{a,b}'"),
            ("#1", "'#1'"),
            ("-x", "-x"),
            ("\u{1b}[2J7%\\'", r#""$(printf '\033[2J7%%\\'\''')""#),
            ("--a=\nb\u{a0}", r#""$(printf '\055-a=\012b\302\240')""#),
        ] {
            assert_eq!(quoted(word), wanted);
        }
    }
}
