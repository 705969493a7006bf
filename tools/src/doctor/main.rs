//! `seckill-doctor`: runs a user's own scripts on throw-away servers, beside the module, and says
//! what it can show: a script is broken, which a session shows, or replaceable, which a comparison
//! shows, or undecided.
//!
//! Each file uses only those that are named before it. `reply` is what a server says, `server`
//! starts servers, and `keyspace` is their data. `template` is a text with arguments in it, `lua`
//! what a script's text shows, and a copy that records what it does, and `call` how it is called.
//! `source` reads all scripts. An `examination` is a script on two servers; `learn` finds a state
//! in which it does something, and says what. A `harm` is shown by a session; `sales` are those of
//! a stock. `answers` is how replies follow from outcomes, `candidates` are lines that could take
//! the script's place, `history` what they are compared in, and `compare` takes the first that
//! never differs. `report` is what is said of a script, and `examine` does all of it for one.
//!
//! Exit code: 0 all replaceable, 1 one is broken, 3 one is undecided, 2 it could not run.

mod answers;
mod call;
mod candidates;
mod compare;
mod examination;
mod examine;
mod harm;
mod history;
mod keyspace;
mod learn;
mod lua;
mod reply;
mod report;
mod sales;
mod server;
mod source;
mod template;

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use seckill_tools::server_errors::with_causes;

use call::Call;
use examination::Bench;
use examine::examine;
use lua::Lua;
use report::{Report, Verdict};
use server::Programs;
use source::Source;

const COULD_NOT_RUN: u8 = 2;

/// Examines your seckill.lua and unlock.lua: what it can show to be broken, and what replaces them.
///
/// Runs every script on throw-away servers that it starts itself, beside the module, and compares
/// replies and keys. It never connects to any other server, and leaves no files behind, but for
/// copies of scripts in strings that it names.
#[derive(Parser)]
#[command(name = "seckill-doctor", version, after_help = EXIT_CODES)]
struct Options {
    /// Scripts that sell or release locks, or folders of them
    #[arg(required = true, value_name = "SCRIPT")]
    scripts: Vec<PathBuf>,

    /// How the script is called: EVALSHA {sha} 2 stock:{voucher} buyers:{voucher} {user}
    /// {orderid}. Words in braces differ per call: voucher, user, orderid, units, lock, token,
    /// lease, request, changes [default: the usual calls are tried]
    #[arg(long, value_name = "CALL")]
    call: Option<String>,

    /// Also read scripts from strings in .java and .kt files
    #[arg(long)]
    from_java: bool,

    /// The server program
    #[arg(long, value_name = "PATH", env = "REDIS_SERVER", default_value = "redis-server")]
    server: PathBuf,

    /// The module [default: libseckill.so beside this program, in target/release, or in the
    /// system's module folders]
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,

    /// Print JSON, one object per script
    #[arg(long)]
    json: bool,
}

const EXIT_CODES: &str = "\
Exit code:
  0  every script is replaceable
  1  a script is broken
  3  none is broken, but a script is undecided
  2  the doctor could not run

Examples:
  seckill-doctor seckill.lua unlock.lua
  seckill-doctor --json --from-java src/main
  seckill-doctor --call 'EVALSHA {sha} 1 stock:{voucher} {units}' deduct.lua";

const MODULE: &str = "libseckill.so";
const MODULE_FOLDERS: &str = "target/release /usr/lib/redis/modules /usr/local/lib/redis/modules \
    /usr/lib/valkey/modules /usr/local/lib/valkey/modules /usr/lib/seckill /usr/local/lib/seckill";

impl Options {
    /// By their absolute paths: a server changes its folder before it looks for the module.
    fn programs(&self) -> Result<Programs> {
        let is_path = self.server.components().count() > 1;
        let server = if is_path { absolute(&self.server)? } else { self.server.clone() };
        let beside = env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned()));
        let folders = beside.into_iter().chain(MODULE_FOLDERS.split(' ').map(PathBuf::from));
        let found = || folders.map(|folder| folder.join(MODULE)).find(|path| path.is_file());
        let module = self.module.clone().or_else(found).with_context(|| {
            format!(
                "{MODULE} is not beside this program, in target/release or in the system's module \
                 folders: build it by make build, or give its path by --module"
            )
        })?;
        Ok(Programs { server, module: absolute(&module)? })
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    path.canonicalize().with_context(|| path.display().to_string())
}

fn main() -> ExitCode {
    ExitCode::from(run(&Options::parse()).unwrap_or_else(|error| {
        eprintln!("seckill-doctor: {}", with_causes(&error));
        COULD_NOT_RUN
    }))
}

/// Examines every script. The exit code is that of the gravest verdict.
fn run(options: &Options) -> Result<u8> {
    let told = options.call.as_deref().map(Call::parse).transpose()?;
    let (mut sources, skipped) = Source::read_all(&options.scripts, options.from_java)?;
    if skipped > 0 {
        eprintln!("seckill-doctor: {skipped} links, pipes or devices were not followed or read");
    }
    ensure!(!sources.is_empty(), "no script was found in the given files, outside of comments");
    let all = sources.len();
    if let Some(call) = told.as_ref().filter(|_| all > 1) {
        let lua = |source: &Source| Lua::read(&String::from_utf8_lossy(&source.text));
        sources.retain(|source| lua(source).is_some_and(|lua| call.fits(&lua)));
        ensure!(!sources.is_empty(), "none of {all} scripts has as many KEYS and ARGV as the call");
        eprintln!("seckill-doctor: the call fits {} of {all} scripts", sources.len());
    }
    let programs = options.programs()?;
    let (mut bench, mut gravest) = (Bench::new(&programs)?, Verdict::Replaceable);
    for (number, source) in sources.iter().enumerate() {
        let report = match examine(&mut bench, source, told.as_ref()) {
            Ok(report) => report,
            Err(error) => {
                // A script that does not end keeps its server busy.
                bench = Bench::new(&programs)?;
                let seen = vec![format!("Examining it failed: {}.", with_causes(&error))];
                Report { seen, ..Report::new(source) }
            }
        };
        gravest = gravest.max(report.verdict());
        let space = if number > 0 && !options.json { "\n" } else { "" };
        let text = if options.json { report.json() } else { report.text() };
        write!(std::io::stdout(), "{space}{text}")?;
    }
    Ok(gravest.exit_code())
}
