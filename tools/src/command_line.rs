//! Command lines of programs with commands.

use std::process::ExitCode;

use anyhow::Error;
use clap::Parser;

use crate::sanitize::told;

/// The exit code for options that are refused, the same as clap's.
const WRONG: u8 = 2;

/// The options of the command line, or the end of the program. Options can be on either side of a
/// command.
pub fn options_anywhere<P: Parser>() -> P {
    let command = P::command().mut_args(|arg| match arg.get_id().as_str() {
        "help" | "version" => arg,
        _ => arg.global(true),
    });
    P::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
}

/// Prints in one line why the program refuses its options, or can't begin.
pub fn refused(program: &str, error: &Error) -> ExitCode {
    eprintln!("{program}: {}", told(error));
    ExitCode::from(WRONG)
}
