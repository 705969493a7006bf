//! Databases for tests: a SQLite file, or a server of PostgreSQL or MariaDB from the distribution's
//! packages, or of MySQL from `scripts/servers mysql-9`, in a fresh directory, on a unix socket,
//! killed by its child handle.
//!
//! This file decides where a database is and when it is up, and knows no table of the worker.
//! Servers refuse to run as root, so root runs them as `nobody`.

mod programs;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::process::{Pid, Signal, kill_process};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Connection, Executor, Row as _};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::harness::{left_out, wait_for};
pub use programs::{found, unprivileged};
use programs::{make_data, program, spawn};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
    MariaDb,
    MySql,
}

impl Kind {
    /// A column's text as hexadecimal digits, which every driver returns as text.
    fn hex(self, column: &str) -> String {
        match self {
            Self::Postgres => {
                format!("encode(convert_to(CAST({column} AS TEXT), 'UTF8'), 'hex')")
            }
            Self::Sqlite => format!("hex({column})"),
            Self::MariaDb | Self::MySql => {
                format!("CAST(hex(CAST({column} AS BINARY)) AS CHAR(8192))")
            }
        }
    }

    pub fn is_mysql(self) -> bool {
        matches!(self, Self::MariaDb | Self::MySql)
    }
}

/// Does a commit wait for the disk? A test kills processes, never the machine, so it need not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commits {
    Quick,
    Durable,
}

/// One database, empty when opened.
pub struct Database {
    pub kind: Kind,
    pub url: String,
    pub server: Option<Arc<DatabaseServer>>,
    runtime: Runtime,
    /// Dropping it removes the file of SQLite.
    _dir: Option<TempDir>,
}

/// A running server, killed when dropped.
pub struct DatabaseServer {
    kind: Kind,
    commits: Commits,
    dir: TempDir,
    child: Mutex<Child>,
    databases: AtomicU32,
}

impl Database {
    /// A separate database; concurrent tests share its server. None, and reported as left out, if
    /// the server is not installed.
    pub fn open(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Sqlite => Some(Self::sqlite()),
            _ => Some(Self::on(&DatabaseServer::shared(kind, Commits::Quick)?)),
        }
    }

    /// Like `open`, with every commit on the disk before it is answered.
    pub fn durable(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Sqlite => Some(Self::sqlite()),
            _ => Some(Self::on(&DatabaseServer::shared(kind, Commits::Durable)?)),
        }
    }

    /// Like `open`, on a server that no other test uses, to be stopped and started.
    pub fn alone(kind: Kind) -> Option<Self> {
        Some(Self::on(&Arc::new(DatabaseServer::start(kind, Commits::Quick)?)))
    }

    pub fn sqlite() -> Self {
        let dir = directory();
        let url = format!("sqlite:{}", dir.path().join("orders.db").display());
        Self { kind: Kind::Sqlite, url, server: None, runtime: runtime(), _dir: Some(dir) }
    }

    /// The URL for a client that has to create the database if it is a missing file.
    pub fn url_to_make(&self) -> String {
        let rest = if self.kind == Kind::Sqlite { "?mode=rwc" } else { "" };
        format!("{}{rest}", self.url)
    }

    fn on(server: &Arc<DatabaseServer>) -> Self {
        let name = format!("orders{}", server.databases.fetch_add(1, Ordering::Relaxed));
        let runtime = runtime();
        let created = runtime.block_on(async {
            let mut connection = AnyConnection::connect(&server.url("")).await?;
            connection.execute(format!("CREATE DATABASE {name}").as_str()).await?;
            connection.close().await
        });
        created.unwrap_or_else(|error| panic!("no database: {error}\n{}", server.log()));
        let (kind, url) = (server.kind, server.url(&name));
        Self { kind, url, server: Some(server.clone()), runtime, _dir: None }
    }

    /// The result rows of a query.
    pub fn rows(&self, query: &str) -> Vec<AnyRow> {
        self.try_rows(query).unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    pub fn try_rows(&self, query: &str) -> sqlx::Result<Vec<AnyRow>> {
        self.runtime.block_on(async {
            let mut connection = AnyConnection::connect(&self.url).await?;
            let rows = sqlx::query(query).fetch_all(&mut connection).await?;
            connection.close().await?;
            Ok(rows)
        })
    }

    /// Columns of any kind as texts. `rest` begins with FROM.
    pub fn texts<const N: usize>(&self, columns: [&str; N], rest: &str) -> Vec<[String; N]> {
        let hex = columns.map(|column| self.kind.hex(column)).join(", ");
        let rows = self.rows(&format!("SELECT {hex} {rest}"));
        let text = |row: &AnyRow, column| from_hex(&row.get::<String, _>(column));
        rows.iter().map(|row| std::array::from_fn(|column| text(row, column))).collect()
    }

    /// Likewise, numbers.
    pub fn numbers<const N: usize>(&self, columns: [&str; N], rest: &str) -> Vec<[i64; N]> {
        let number = |text: String| text.parse().unwrap_or_else(|_| panic!("{text} {rest}"));
        self.texts(columns, rest).into_iter().map(|row| row.map(number)).collect()
    }

    /// Runs a statement on a connection that is open as long as the returned value.
    pub fn held(&self, statement: &str) -> Held<'_> {
        let connection = self.runtime.block_on(async {
            let mut connection = AnyConnection::connect(&self.url_to_make()).await?;
            connection.execute(statement).await?;
            Ok::<_, sqlx::Error>(connection)
        });
        let connection = connection.unwrap_or_else(|error| panic!("{statement}: {error}"));
        Held { connection, runtime: &self.runtime }
    }
}

/// A connection with an open transaction or lock.
pub struct Held<'a> {
    connection: AnyConnection,
    runtime: &'a Runtime,
}

impl Held<'_> {
    pub fn end(mut self, statement: &str) {
        let ended = self.runtime.block_on(self.connection.execute(statement));
        ended.unwrap_or_else(|error| panic!("the end of a held statement: {error}"));
        self.runtime.block_on(self.connection.close()).expect("close the connection");
    }
}

impl DatabaseServer {
    /// The server that all concurrent tests share; it ends with the last of them.
    fn shared(kind: Kind, commits: Commits) -> Option<Arc<Self>> {
        static POSTGRES: Mutex<Weak<DatabaseServer>> = Mutex::new(Weak::new());
        static MARIADB: Mutex<Weak<DatabaseServer>> = Mutex::new(Weak::new());
        static MYSQL: Mutex<Weak<DatabaseServer>> = Mutex::new(Weak::new());
        let shared = match kind {
            Kind::Postgres => &POSTGRES,
            Kind::MySql => &MYSQL,
            _ => &MARIADB,
        };
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade().filter(|server| server.commits == commits) {
            return Some(server);
        }
        let server = Arc::new(Self::start(kind, commits)?);
        *shared = Arc::downgrade(&server);
        Some(server)
    }

    /// None, and reported as left out, if it is not available; an error if it must be.
    fn start(kind: Kind, commits: Commits) -> Option<Self> {
        let outcome = match program(kind) {
            Some(program) => Self::start_with(kind, commits, &program),
            None if kind == Kind::MySql => Err("`scripts/servers mysql-9` obtains it".to_owned()),
            None => Err("not installed; `scripts/setup test` installs it".to_owned()),
        };
        let why = match outcome {
            Ok(server) => return Some(server),
            Err(why) => why,
        };
        let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!(in_ci && kind == Kind::Postgres), "{kind:?}: {why}");
        left_out(&format!("tests of the worker on {kind:?}: {why}"));
        None
    }

    fn start_with(kind: Kind, commits: Commits, program: &Path) -> Result<Self, String> {
        let dir = directory();
        make_data(kind, program, dir.path())?;
        let child = Mutex::new(spawn(kind, commits, dir.path(), &[]));
        let server = Self { kind, commits, dir, child, databases: AtomicU32::new(0) };
        server.wait_until_up()?;
        Ok(server)
    }

    /// The URL of a database; with an empty name, of the one that always exists.
    fn url(&self, name: &str) -> String {
        let dir = self.dir.path().display();
        let or = |usual: &str| if name.is_empty() { usual.to_owned() } else { name.to_owned() };
        match self.kind {
            Kind::Postgres => {
                format!("postgres://seckill@localhost/{}?host={dir}", or("postgres"))
            }
            _ => {
                let tls = "ssl-mode=DISABLED";
                format!("mysql://root@localhost/{}?socket={dir}/socket&{tls}", or("mysql"))
            }
        }
    }

    /// Where it listens.
    pub fn socket(&self) -> PathBuf {
        let name = if self.kind == Kind::Postgres { ".s.PGSQL.5432" } else { "socket" };
        self.dir.path().join(name)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_else(|_| "(no log)".into())
    }

    /// Stops it as an operator does; clients are disconnected.
    pub fn stop(&self) {
        self.end(if self.kind == Kind::Postgres { Signal::INT } else { Signal::TERM });
    }

    /// Stops it as a crash does, in the middle of its work.
    pub fn crash(&self) {
        // PostgreSQL's other processes end when the first one gets this signal.
        self.end(if self.kind == Kind::Postgres { Signal::QUIT } else { Signal::KILL });
    }

    /// A copy of a file that only the server's user may read.
    pub fn own_file(&self, file: &Path) -> PathBuf {
        let copy = self.dir.path().join(file.file_name().expect("a name"));
        fs::copy(file, &copy).expect("copy a file");
        fs::set_permissions(&copy, Permissions::from_mode(0o600)).expect("hide a file");
        let owner = fs::metadata(self.dir.path().join("data")).expect("its data");
        chown(&copy, Some(owner.uid()), Some(owner.gid())).expect("give the file away");
        copy
    }

    /// Stops the process, as on a machine that hangs, until it is thawed. Only for MariaDB:
    /// PostgreSQL is several processes.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let id = self.child().id();
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw).expect("a pid");
        kill_process(pid, signal).expect("signal the server");
    }

    fn end(&self, signal: Signal) {
        self.signal(signal);
        let mut child = self.child();
        let ended = wait_for("the database's end", || child.try_wait().ok().flatten());
        ended.unwrap_or_else(|late| panic!("{late}\n{}", self.log()));
    }

    pub fn start_again(&self) {
        self.start_again_with(&[]);
    }

    /// Like `start_again`, with further arguments.
    pub fn start_again_with(&self, args: &[&str]) {
        *self.child() = spawn(self.kind, self.commits, self.dir.path(), args);
        self.wait_until_up().unwrap_or_else(|why| panic!("no restart: {why}"));
    }

    fn child(&self) -> std::sync::MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until_up(&self) -> Result<(), String> {
        let (url, runtime) = (self.url(""), runtime());
        let up = wait_for("the database to answer", || {
            if let Ok(Some(_)) = self.child().try_wait() {
                return Some(Err("it ended".to_owned()));
            }
            let connected = runtime.block_on(AnyConnection::connect(&url));
            connected.is_ok().then_some(Ok(()))
        });
        up.and_then(|up| up).map_err(|why| format!("{why}\n{}", self.log()))
    }
}

impl Drop for DatabaseServer {
    fn drop(&mut self) {
        if matches!(self.child().try_wait(), Ok(None)) {
            self.crash();
        }
    }
}

/// The text of hexadecimal digits.
fn from_hex(digits: &str) -> String {
    let digits: Vec<u8> =
        digits.chars().map(|digit| digit.to_digit(16).expect("a digit") as u8).collect();
    let bytes = digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect();
    String::from_utf8(bytes).expect("ids of tests are text")
}

fn directory() -> TempDir {
    tempfile::Builder::new().prefix("seckill-").tempdir().expect("a directory")
}

fn runtime() -> Runtime {
    sqlx::any::install_default_drivers();
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}
