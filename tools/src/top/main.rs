//! `seckill-top`: a flash sale as it goes on, from what the server tells of itself.
//!
//! `options` what can be asked for, `source` reads a server with the help of `places` (where it
//! keeps things), `finder` (which vouchers there are) and `replies` into a `reading`; `history`
//! keeps the last of these; `screen` and `panels` draw them, `words` spells numbers, `dashboard`
//! shows the frames and `svg` makes an image of one; `page` makes metrics of a reading and `serve`
//! serves them. `shown` makes texts fit for a line.
//!
//! Exit code: 0 when it has done what was asked; 1 with a line that says why not.

mod dashboard;
mod finder;
mod history;
mod options;
mod page;
mod panels;
mod places;
mod reading;
mod replies;
mod screen;
mod serve;
#[path = "../worker/shown.rs"]
mod shown;
mod source;
mod svg;
#[cfg(test)]
mod tests;
mod words;

use std::process::ExitCode;

use clap::Parser;

use options::Options;

fn main() -> ExitCode {
    let options = Options::parse();
    let done = match options.metrics {
        Some(address) => serve::serve(&options, address),
        None if options.once => dashboard::print_once(&options),
        None => dashboard::watch(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("seckill-top: {}", shown::shown(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}
