//! A pooler between the worker and its database: PgBouncer, which lends a connection for each
//! transaction, by whichever statements it was prepared.

use std::fs;
use std::process::{Child, Command, Stdio};

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, Executor as _, Row as _};
use tempfile::TempDir;

use crate::databases::{Database, Kind, found, unprivileged};
use crate::harness::{Port, left_out};
use crate::shop::Shop;
use crate::statements::{QUICK, documented};
use crate::worker::{Worker, until};

/// Ends with the test.
struct Pooler {
    child: Child,
    port: Port,
    dir: TempDir,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // An error means that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Pooler {
    /// None, and reported as left out, where it is not installed.
    fn start(database: &Database, settings: &str) -> Option<Self> {
        let Some(program) = found("pgbouncer") else {
            left_out("tests of the worker through PgBouncer: `scripts/setup test` installs it");
            return None;
        };
        let dir = tempfile::tempdir().expect("a directory");
        let port = Port::free();
        let socket = database.server.as_ref().expect("a server").socket();
        let host = socket.parent().expect("a folder").display();
        let (number, users) = (port.number, dir.path().join("users"));
        let file = format!(
            "[databases]\n* = host={host} port=5432\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {number}\nunix_socket_dir =\nauth_type = trust\nauth_file = {users}\n\
             pool_mode = transaction\ndefault_pool_size = 2\n{settings}\n",
            users = users.display()
        );
        let path = dir.path().join("pgbouncer.ini");
        fs::write(&path, file).expect("settings");
        fs::write(&users, "\"seckill\" \"\"\n").expect("users");
        let log = fs::File::create(dir.path().join("log")).expect("a log");
        let mut command = Command::new(program);
        let command = unprivileged(command.arg(&path), dir.path());
        let child = command.stdout(Stdio::null()).stderr(log).spawn().expect("run pgbouncer");
        let pooler = Self { child, port, dir };
        until("PgBouncer to listen", || {
            std::net::TcpStream::connect(("127.0.0.1", pooler.port.number)).is_ok()
        });
        Some(pooler)
    }

    fn url(&self, database: &Database) -> String {
        let before = database.url.split('?').next().expect("a URL");
        let name = before.rsplit_once('/').expect("a name").1;
        format!("postgres://seckill@127.0.0.1:{}/{name}?sslmode=disable", self.port.number)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).expect("a log")
    }
}

fn worker_through(pooler: &Pooler, shop: &Shop, options: &[&str]) -> Worker {
    let url = pooler.url(&shop.database);
    let args = shop.worker_args().into_iter();
    let args = args.map(|arg| if arg == shop.database.url { url.clone() } else { arg });
    let options = options.iter().map(|option| (*option).to_owned());
    Worker::start(&args.chain(options).collect::<Vec<_>>(), shop.server.dir())
}

/// With two workers each takes connections by which the other has prepared statements, and a
/// clash of their names must never count as an order that the database refuses.
#[test]
fn two_workers_share_the_connections_of_a_pooler() {
    let Some(database) = Database::open(Kind::Postgres) else { return };
    let mut shop = Shop::open(database);
    let stock = [(1, 1_000), (2, 1_000)];
    let file = shop.with_statements(&stock, &documented(Kind::Postgres));
    let Some(pooler) = Pooler::start(&shop.database, "") else { return };
    shop.sell("1", 1_000);
    shop.sell_managed("2", 1_000, "HOLD 900000");
    let options = ["--statements", &file, "--batch", "16"];
    let options = [&options[..], &QUICK].concat();
    let workers = [0, 1].map(|_| worker_through(&pooler, &shop, &options));
    for number in 0..300 {
        shop.buy("1", &number.to_string(), &(10_000 + number).to_string());
        let id = 20_000 + number;
        shop.buy("2", &number.to_string(), &id.to_string());
        match number % 5 {
            0 => drop(shop.run(&format!("SECKILL.CANCEL 2 {number} {id}"))),
            1 => drop(shop.run(&format!("SECKILL.CONFIRM 2 {number} {id} REF p{number}"))),
            _ => {}
        }
    }
    let [mut first, mut second] = workers;
    shop.wait_until_drained(&mut first);
    assert!(second.is_running(), "{}", second.log());
    for worker in [&mut first, &mut second] {
        assert!(worker.terminate().success(), "{}", worker.log());
        let log = worker.log();
        assert!(!log.contains("prepared statement"), "{log}\n{}", pooler.log());
    }
    assert_eq!(shop.dead_letters().len(), 0);
    shop.check();
    shop.check_shop(&stock);
    // What a worker has set for itself is no one else's.
    let query = "SHOW plan_cache_mode";
    for _ in 0..4 {
        assert_eq!(Other::open(&pooler, &shop).answer(query), "auto");
    }
}

/// The pooler ends a statement that waits for a lock: of the shop's table, which concerns the
/// orders that are written there; of the worker's own, which is as if the database were down.
#[test]
fn what_a_pooler_ends_is_no_fault_of_an_order() {
    let Some(database) = Database::open(Kind::Postgres) else { return };
    let mut shop = Shop::open(database);
    let file = shop.with_held_orders();
    let Some(pooler) = Pooler::start(&shop.database, "query_timeout = 1") else { return };
    let options = [&QUICK[..], &["--statements", &file]].concat();
    let mut worker = worker_through(&pooler, &shop, &options);
    shop.wait_until_drained(&mut worker);
    let locked = |table| format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
    let lock = shop.database.held(&locked("held_orders"));
    shop.stays(&worker, 100, 0..3);
    lock.end("COMMIT");
    shop.wait_until_drained(&mut worker);
    let refused = worker.log().matches("can't be written").count();
    let lock = shop.database.held(&locked("seckill_orders"));
    (101..110).for_each(|number| shop.buy("tea", &format!("u{number}"), &number.to_string()));
    worker.wait_for_word("database is down");
    lock.end("COMMIT");
    shop.wait_until_drained(&mut worker);
    assert_eq!(worker.log().matches("can't be written").count(), refused, "{}", worker.log());
    assert!(worker.terminate().success(), "{}", worker.log());
    shop.check();
}

/// Each transaction is lent another session, in which another program has prepared statements by
/// the names that the worker's library gives, too. No session comes twice while the worker starts.
#[test]
fn no_statement_of_another_program_is_run() {
    let Some(database) = Database::open(Kind::Postgres) else { return };
    let mut shop = Shop::open(database);
    let settings = "default_pool_size = 40\nserver_round_robin = 1";
    let Some(pooler) = Pooler::start(&shop.database, settings) else { return };
    let mut others: Vec<Other> = (0..40).map(|_| Other::open(&pooler, &shop)).collect();
    others[0].run("CREATE TABLE strange (number int)");
    for other in &mut others {
        other.run("BEGIN");
        for number in 1..40 {
            other.run(&format!("PREPARE sqlx_s_{number} AS INSERT INTO strange VALUES (1)"));
        }
    }
    others.iter_mut().for_each(|other| other.run("COMMIT"));
    shop.sell("phone", 100);
    let mut worker = worker_through(&pooler, &shop, &QUICK);
    shop.buy_many("phone", 0..20);
    shop.wait_until_drained(&mut worker);
    assert!(worker.terminate().success(), "{}", worker.log());
    let log = worker.log();
    assert!(log.contains("a pooler lends") && !log.contains("is down"), "{log}");
    assert_eq!(others[0].answer("SELECT COUNT(*)::text FROM strange"), "0");
    shop.check();
}

/// Another client of the pool, which has its library prepare nothing.
struct Other {
    runtime: tokio::runtime::Runtime,
    connection: sqlx::PgConnection,
}

impl Other {
    fn open(pooler: &Pooler, shop: &Shop) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let options: PgConnectOptions = pooler.url(&shop.database).parse().expect("a URL");
        let options = options.extra_float_digits(None).statement_cache_capacity(0);
        let connection = sqlx::PgConnection::connect_with(&options);
        let connection = runtime.block_on(connection).expect("a connection");
        Self { runtime, connection }
    }

    fn run(&mut self, sql: &str) {
        let run = self.connection.execute(sqlx::raw_sql(sql));
        self.runtime.block_on(run).expect("an answer");
    }

    fn answer(&mut self, query: &str) -> String {
        let row = self.connection.fetch_one(sqlx::raw_sql(query));
        self.runtime.block_on(row).expect("an answer").get(0)
    }
}
