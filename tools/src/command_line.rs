//! Command lines of programs with commands.

use std::process::ExitCode;

use anyhow::Error;
use clap::Parser;

use crate::sanitize::sanitize;

/// The exit code of a program whose options can't be, as clap has it.
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

/// Says in a line why what a program was told can't be.
pub fn refused(program: &str, error: &Error) -> ExitCode {
    eprintln!("{program}: {}", sanitize(&format!("{error:#}")));
    ExitCode::from(WRONG)
}
