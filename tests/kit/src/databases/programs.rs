//! The programs of database servers: their paths, how they are set up, and how they are started.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::geteuid;

use super::{Commits, Kind};
use crate::harness::root;

pub(super) fn spawn(kind: Kind, commits: Commits, dir: &Path, args: &[&str]) -> Child {
    let show = |name: &str| dir.join(name).display().to_string();
    let found = program(kind).expect("it was there before");
    let mut command = if kind == Kind::MySql { mysqld(&found) } else { Command::new(found) };
    match kind {
        Kind::Postgres => {
            command.args(["-D", &show("data"), "-k", &show(""), "-c", "listen_addresses="])
        }
        _ => command
            // The second is the default since 11.6, and not known everywhere before.
            .args(match kind {
                Kind::MySql => &[][..],
                _ => &["--no-defaults", "--loose-innodb-snapshot-isolation=ON"],
            })
            .args(["--skip-networking"])
            .arg(format!("--tmpdir={}", dir.display()))
            .args(["data", "socket", "pid"].map(|name| match name {
                "data" => format!("--datadir={}", show(name)),
                "pid" => format!("--pid-file={}", show(name)),
                _ => format!("--socket={}", show(name)),
            })),
    };
    match (kind, commits) {
        (Kind::Postgres, Commits::Quick) => command.args(["-c", "fsync=off"]),
        // The system gets each commit, and keeps it when the server is killed.
        (_, Commits::Quick) => command.arg("--innodb-flush-log-at-trx-commit=2"),
        (_, Commits::Durable) => &mut command,
    };
    command.args(args);
    let log = File::options().create(true).append(true).open(dir.join("log")).expect("log");
    owned(kind, &mut command, dir)
        .stdout(log.try_clone().expect("log"))
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {kind:?}: {error}"))
}

/// MySQL that was unpacked outside of the system's folders: it needs all paths as options.
fn mysqld(program: &Path) -> Command {
    let share = program.with_file_name("share");
    let mut command = Command::new(program);
    command.args([
        "--no-defaults", "--user=root", "--mysqlx=OFF", "--disable-log-bin",
        "--secure-file-priv=NULL",
    ]);
    command.arg(format!("--lc-messages-dir={}", share.display()));
    command.arg(format!("--plugin-dir={}", program.with_file_name("plugin").display()));
    command.arg(format!("--character-sets-dir={}", share.join("charsets").display()));
    command
}

/// Only root may be able to read the folder where MySQL was unpacked; MySQL may run as root.
fn owned<'a>(kind: Kind, command: &'a mut Command, dir: &Path) -> &'a mut Command {
    if kind == Kind::MySql {
        return command.current_dir(dir).env_clear().env("PATH", PATH).stdin(Stdio::null());
    }
    unprivileged(command, dir)
}

/// Runs it as a user that may run database servers, in a directory of that user.
pub fn unprivileged<'a>(command: &'a mut Command, dir: &Path) -> &'a mut Command {
    if geteuid().is_root() {
        let users = fs::read_to_string("/etc/passwd").expect("/etc/passwd");
        let nobody = users.lines().find_map(|line| line.strip_prefix("nobody:"));
        let ids: Vec<u32> = nobody
            .expect("a user nobody")
            .split(':')
            .skip(1)
            .take(2)
            .map(|id| id.parse().expect("an id"))
            .collect();
        chown(dir, Some(ids[0]), Some(ids[1])).expect("give the directory away");
        command.uid(ids[0]).gid(ids[1]);
    }
    command.current_dir(dir).env_clear().env("PATH", PATH).stdin(Stdio::null())
}

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

pub(super) fn program(kind: Kind) -> Option<PathBuf> {
    match kind {
        Kind::Postgres => {}
        Kind::MySql => {
            let path = root().join("target/servers/mysql-9/mysqld");
            return Some(path).filter(|file| file.is_file());
        }
        _ => return found("mariadbd"),
    }
    // Debian keeps the programs of each version outside of PATH.
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|version| {
            let number: u32 = version.file_name().to_str()?.parse().ok()?;
            let program = version.path().join("bin/postgres");
            program.is_file().then_some((number, program))
        })
        .max();
    newest.map(|(_, program)| program).or_else(|| found("postgres"))
}

pub fn found(name: &str) -> Option<PathBuf> {
    PATH.split(':').map(|folder| Path::new(folder).join(name)).find(|file| file.is_file())
}

/// Makes the data of a new server in `dir`: a copy of what was made for the first one.
pub(super) fn make_data(kind: Kind, program: &Path, dir: &Path) -> Result<(), String> {
    let data = dir.join("data");
    let kept = kept(kind, program).map_err(|error| error.to_string())?;
    if kept.is_dir() {
        return copy(&kept, &data);
    }
    set_up(kind, program, dir)?;
    // Another process may keep its own meanwhile, which is as good.
    let made = tempfile::tempdir_in(kept.parent().ok_or("no folder of programs")?);
    let made = made.map_err(|error| error.to_string())?;
    copy(&data, &made.path().join("data"))?;
    let _ = fs::rename(made.path().join("data"), &kept);
    Ok(())
}

/// Where the data of a new server of this program is kept, for others to begin with: making it
/// takes several times as long as all that most tests do.
fn kept(kind: Kind, program: &Path) -> std::io::Result<PathBuf> {
    let program = fs::metadata(program)?;
    let name = format!("{kind:?}-{}-{}", program.mtime(), program.len());
    // Beside the profile's folder, as CARGO_TARGET_TMPDIR is.
    let tests = std::env::current_exe()?;
    let target = tests.ancestors().nth(3).unwrap_or(Path::new("/tmp"));
    fs::create_dir_all(target.join("tmp"))?;
    Ok(target.join("tmp").join(name))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    ended_well(Command::new("cp").args(["-a", "--sparse=always"]).args([from, to]))
}

/// Makes the data of a new server in `dir`.
fn set_up(kind: Kind, program: &Path, dir: &Path) -> Result<(), String> {
    let data = dir.join("data").display().to_string();
    let bin = program.parent().expect("a program is in a folder");
    let mut init = match kind {
        Kind::Postgres => Command::new(bin.join("initdb")),
        Kind::MySql => mysqld(program),
        _ => Command::new(found("mariadb-install-db").ok_or("no mariadb-install-db")?),
    };
    let init = match kind {
        Kind::Postgres => init
            .args(["--username=seckill", "--auth=trust", "--no-sync", "--no-instructions"])
            .args(["--encoding=UTF8", "--locale=C", "--pgdata", &data]),
        Kind::MySql => init.args(["--initialize-insecure", &format!("--datadir={data}")]),
        // A server that starts deletes the temporary tables of all others in its tmpdir.
        _ => init
            .args(["--no-defaults", "--auth-root-authentication-method=normal"])
            .arg(format!("--tmpdir={}", dir.display()))
            .args(["--skip-test-db", &format!("--datadir={data}")]),
    };
    ended_well(owned(kind, init, dir))
}

fn ended_well(command: &mut Command) -> Result<(), String> {
    let made = command.output().map_err(|error| error.to_string())?;
    if made.status.success() {
        return Ok(());
    }
    let [out, err] = [made.stdout, made.stderr].map(String::from_utf8);
    Err(format!("it can't be set up: {out:?} {err:?}"))
}
