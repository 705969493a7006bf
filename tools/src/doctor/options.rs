//! The command line.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Parser;

use crate::call::Call;
use crate::server::Programs;

/// Examines your seckill.lua and unlock.lua: what it can show to be broken, and what replaces them.
///
/// Runs every script on throw-away servers that it starts itself, beside the module, and compares
/// replies and keys. It never connects to any other server, and leaves no files behind, but for
/// copies of scripts in strings that it names.
#[derive(Parser)]
#[command(name = "seckill-doctor", version, after_help = EXIT_CODES)]
pub struct Options {
    /// Scripts that sell or release locks, or folders of them
    #[arg(required = true, value_name = "SCRIPT")]
    pub scripts: Vec<PathBuf>,

    /// How the script is called: EVALSHA {sha} 2 stock:{voucher} buyers:{voucher} {user}
    /// {orderid}. Words in braces differ per call: voucher, user, orderid, units, lock, token,
    /// lease, request, changes [default: the usual calls are tried]
    #[arg(long, value_name = "CALL")]
    call: Option<String>,

    /// Also read scripts from strings in .java and .kt files
    #[arg(long)]
    pub from_java: bool,

    /// The server program [default: REDIS_SERVER, else redis-server]
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,

    /// The module [default: libseckill.so beside this program, in target/release, or in the
    /// system's module folders]
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,

    /// Print JSON, one object per script
    #[arg(long)]
    pub json: bool,
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
    /// The call, if the user says it.
    pub fn call(&self) -> Result<Option<Call>> {
        self.call.as_deref().map(Call::parse).transpose()
    }

    /// By their absolute paths: a server changes its folder before it looks for the module.
    pub fn programs(&self) -> Result<Programs> {
        let server = self.server.clone().or_else(|| env::var_os("REDIS_SERVER").map(PathBuf::from));
        let server = server.unwrap_or_else(|| "redis-server".into());
        let server = if server.components().count() > 1 { absolute(&server)? } else { server };
        let beside = env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned()));
        let folders = beside.into_iter().chain(MODULE_FOLDERS.split(' ').map(PathBuf::from));
        let found = || folders.map(|folder| folder.join(MODULE)).find(|path| path.is_file());
        match self.module.clone().or_else(found) {
            Some(module) => Ok(Programs { server, module: absolute(&module)? }),
            None => bail!(
                "{MODULE} is not beside this program, in target/release or in the system's module \
                 folders: build it by make build, or give its path by --module"
            ),
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    path.canonicalize().with_context(|| path.display().to_string())
}
