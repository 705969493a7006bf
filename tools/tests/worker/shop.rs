//! A shop: a server that sells, a database for the rows, and what must be true of both.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Mutex;

use redis::{ConnectionAddr, Value};

use crate::databases::{Database, Kind};
use crate::harness::{Server, text, wait_for};
use crate::worker::{Worker, asked};

pub const GROUP: &str = "seckill-worker";

pub const STREAMS: [&str; 3] =
    ["stream.orders", "stream.orders.confirmed", "stream.orders.released"];

/// Voucher and order id.
pub type OrderId = (String, String);

/// A row of the table of orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub user: String,
    pub units: i64,
    pub state: String,
}

pub struct Shop {
    pub server: Server,
    pub database: Database,
    /// Vouchers on sale with their initial stock.
    sales: Vec<(String, i64)>,
    /// Orders whose buyers were answered that they are accepted, by id and user, with their units.
    accepted: Mutex<BTreeMap<(OrderId, String), i64>>,
    /// The ends of the names of the streams: nothing, or tags of a cluster in braces.
    tags: Vec<String>,
}

impl Shop {
    pub fn open(database: Database) -> Self {
        Self::on(Server::start(), database, &[""])
    }

    /// One on SQLite with these sales, such as `phone 9, tea 100 HOLD 600000`: those with rules are
    /// managed.
    pub fn of(sales: &str) -> Self {
        Self::open(Database::sqlite()).selling(sales)
    }

    /// One on each database that is installed.
    pub fn on_each(sales: &str) -> impl Iterator<Item = Self> {
        databases().map(move |database| Self::open(database).selling(sales))
    }

    pub fn selling(mut self, sales: &str) -> Self {
        for sale in sales.split(", ") {
            let mut words = sale.splitn(3, ' ');
            let voucher = words.next().expect("a voucher");
            let stock = words.next().and_then(|stock| stock.parse().ok()).expect("a stock");
            match words.next() {
                Some(rules) => self.sell_managed(voucher, stock, rules),
                None => self.sell(voucher, stock),
            }
        }
        self
    }

    pub fn on(server: Server, database: Database, tags: &[&str]) -> Self {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let (sales, accepted) = (Vec::new(), Mutex::default());
        Self { server, database, sales, accepted, tags }
    }

    /// Opens the sale of an unmanaged voucher.
    pub fn sell(&mut self, voucher: &str, stock: i64) {
        self.run(&format!("SET seckill:stock:{} {stock}", self.tagged(voucher)));
        self.sales.push((voucher.to_owned(), stock));
    }

    /// Opens a managed sale with these rules.
    pub fn sell_managed(&mut self, voucher: &str, stock: i64, rules: &str) {
        assert_eq!(self.run(&format!("SECKILL.CREATE {voucher} {stock} {rules}")), Value::Okay);
        self.sales.push((voucher.to_owned(), stock));
    }

    /// The voucher as it is in the names of its keys.
    fn tagged(&self, voucher: &str) -> String {
        let bare = self.tags == [""] || voucher.contains('{');
        if bare { voucher.to_owned() } else { format!("{{{voucher}}}") }
    }

    /// Runs a command, spelled as for redis-cli.
    pub fn run(&self, command: &str) -> Value {
        self.server.run(command)
    }

    pub fn count(&self, command: &str) -> i64 {
        match self.run(command) {
            Value::Int(number) => number,
            other => panic!("{command} gave {other:?}"),
        }
    }

    /// Runs a try, which must be accepted.
    pub fn buy(&self, voucher: &str, user: &str, id: &str) {
        let outcome = self.run(&format!("SECKILL.TRY {voucher} {user} {id}"));
        assert_eq!(outcome, Value::Int(0), "{voucher} {user} {id}");
        self.accept(voucher, user, id, 1);
    }

    /// Runs the accepted tries of users u0, u1, .. with the order ids o0, o1, ..
    pub fn buy_many(&self, voucher: &str, numbers: Range<u32>) {
        numbers.for_each(|n| self.buy(voucher, &format!("u{n}"), &format!("o{n}")));
    }

    /// Those of users 500, 501, .. with the order ids 1000, 1001, ..
    pub fn buy_numbered(&self, voucher: &str, numbers: Range<u32>) {
        let id = |first: u32, n: u32| (first + n).to_string();
        numbers.for_each(|n| self.buy(voucher, &id(500, n), &id(1_000, n)));
    }

    pub fn accept(&self, voucher: &str, user: &str, id: &str, units: i64) {
        let order = ((voucher.to_owned(), id.to_owned()), user.to_owned());
        let before = self.accepted.lock().expect("nobody panicked").insert(order, units);
        assert!(before.is_none(), "{voucher} {id} accepted twice for {user}");
    }

    /// Sends tries for all vouchers on one connection; accepted users are recorded. Users may
    /// return, and every order id is new. `name` makes the ids of several calls differ.
    pub fn rush(&self, name: &str, tries: u32, random: &mut fastrand::Rng) {
        let mut client = self.server.client();
        let mut sent = Vec::new();
        for number in 0..tries {
            let (voucher, _) = random.choice(&self.sales).expect("something is on sale");
            let user = format!("u{}", random.u32(0..tries * 2));
            let id = format!("{name}-{number}");
            client.send(&["SECKILL.TRY", voucher, &user, &id]);
            sent.push((voucher, user, id));
        }
        for (voucher, user, id) in sent {
            match client.receive() {
                Value::Int(0) => self.accept(voucher, &user, &id, 1),
                Value::Int(1 | 2) => {}
                other => panic!("{voucher} {user} {id}: {other:?}"),
            }
        }
    }

    /// A worker for this shop, with further options.
    pub fn worker(&self, options: &[&str]) -> Worker {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        Worker::start(&[self.worker_args(), options].concat(), self.server.dir())
    }

    /// Runs a worker that ends on its own, with this exit code and these words.
    pub fn ends(&self, options: &[&str], code: i32, words: &str) {
        let mut worker = self.worker(options);
        assert_eq!(worker.ended().code(), Some(code), "{}", worker.log());
        assert!(worker.log().contains(words), "{words}: {}", worker.log());
    }

    /// Runs a command of the worker to its end, with this input; its exit code and its output.
    pub fn asked(&self, words: &[&str], input: &str) -> (Option<i32>, String) {
        let args = self.worker_args().into_iter().chain(words.iter().map(|word| (*word).into()));
        asked(args, self.server.dir(), input)
    }

    /// A worker that connects to the server by this URL.
    pub fn worker_at(&self, url: &str, options: &[&str]) -> Worker {
        let mut args = vec!["--redis", url, "--database", &self.database.url];
        args.extend(options);
        Worker::start(&args, self.server.dir())
    }

    pub fn worker_args(&self) -> Vec<String> {
        let redis = match self.server.address().addr() {
            ConnectionAddr::Unix(path) => format!("redis+unix://{}", path.display()),
            address => format!("redis://{address}/"),
        };
        vec!["--redis".into(), redis, "--database".into(), self.database.url.clone()]
    }

    /// A worker that ends once it has tried everything in the streams, including entries of dead
    /// workers.
    pub fn once(&self, options: &[&str]) -> Worker {
        let impatient = ["--once", "--json", "--claim-after", "1ms", "--retry", "1ms"];
        self.worker(&[&impatient, options].concat())
    }

    /// Drains the streams by such a worker; returns its summary.
    pub fn drain(&self, options: &[&str]) -> serde_json::Value {
        self.once(options).summary()
    }

    /// Has the group read everything again.
    pub fn read_again(&self) {
        for stream in STREAMS {
            self.run(&format!("XGROUP SETID {stream} {GROUP} 0"));
        }
    }

    fn streams(&self, name: &str) -> Vec<String> {
        let tag = |tag: &String| {
            if tag.is_empty() { name.to_owned() } else { format!("{name}:{{{tag}}}") }
        };
        self.tags.iter().map(tag).collect()
    }

    /// Has the group read and acknowledged everything in all streams?
    pub fn is_drained(&self) -> bool {
        STREAMS.into_iter().flat_map(|name| self.streams(name)).all(|stream| {
            if self.count(&format!("EXISTS {stream}")) == 0 {
                return true;
            }
            let group = self.group(&stream, GROUP);
            let last = self.stream_field(&stream, "last-generated-id");
            group.is_some_and(|group| group["pending"] == "0" && group["last-delivered-id"] == last)
        })
    }

    pub fn wait_until_drained(&self, worker: &mut Worker) {
        let drained = wait_for("the streams to be drained", || {
            (self.is_drained() || !worker.is_running()).then_some(())
        });
        drained.unwrap_or_else(|late| panic!("{late}\n{}", worker.log()));
        assert!(worker.is_running(), "the worker ended:\n{}", worker.log());
    }

    /// Waits until this much time has passed on the server's clock.
    pub fn let_pass(&self, ms: i64) {
        self.server.wait_until(self.server.clock_ms() + ms);
    }

    /// A group in the reply of XINFO GROUPS.
    pub fn group(&self, stream: &str, group: &str) -> Option<BTreeMap<String, String>> {
        let Value::Array(groups) = self.run(&format!("XINFO GROUPS {stream}")) else { return None };
        groups.into_iter().map(pairs).find(|fields| fields["name"] == group)
    }

    /// Has a consumer read orders that are not done?
    pub fn has_pending(&self) -> bool {
        self.group("stream.orders", GROUP).is_some_and(|group| group["pending"] != "0")
    }

    pub fn stream_field(&self, stream: &str, field: &str) -> String {
        pairs(self.run(&format!("XINFO STREAM {stream}")))[field].clone()
    }

    /// The rows of the table of orders, where no two users have one order id.
    pub fn rows(&self) -> BTreeMap<OrderId, Row> {
        self.all_rows().into_iter().collect()
    }

    /// All rows of the table of orders.
    pub fn all_rows(&self) -> Vec<(OrderId, Row)> {
        let columns = ["voucher_id", "order_id", "user_id", "units", "state"];
        let rows = self.database.texts(columns, "FROM seckill_orders").into_iter();
        rows.map(|[voucher, order, user, units, state]| {
            let units = units.parse().expect("units");
            ((voucher, order), Row { user, units, state })
        })
        .collect()
    }

    /// The number of rows, 0 before there is a table.
    pub fn row_count(&self) -> usize {
        self.database.try_rows("SELECT 1 FROM seckill_orders").map_or(0, |rows| rows.len())
    }

    /// The dead letters, each as its fields.
    pub fn dead_letters(&self) -> Vec<BTreeMap<String, String>> {
        let streams = self.streams("stream.orders").into_iter();
        let letters = streams.flat_map(|stream| entries(&self.server, &format!("{stream}.dlq")));
        letters.map(|(_, fields)| fields).collect()
    }

    /// What must be true when everything is drained: every accepted order is one row, or one dead
    /// letter whose units were released, and Redis, rows and sums agree.
    pub fn check(&self) {
        assert!(self.is_drained(), "not everything is acknowledged");
        let rows: BTreeMap<_, _> =
            self.all_rows().into_iter().map(|(id, row)| ((id, row.user.clone()), row)).collect();
        let accepted = self.accepted.lock().expect("nobody panicked").clone();
        let mut dead: BTreeMap<(OrderId, String), usize> = BTreeMap::new();
        for letter in self.dead_letters() {
            *dead.entry(order_of(&letter)).or_default() += 1;
        }
        for (order, units) in &accepted {
            match (rows.get(order), dead.get(order)) {
                (Some(row), None) if row.is_live() => assert_eq!(row.units, *units, "{order:?}"),
                (Some(row), None) => assert_eq!(row.units, 0, "{order:?}"),
                (None, Some(1)) => {}
                (Some(row), Some(1)) => assert!(!row.is_live(), "{order:?}: dead, and {row:?}"),
                (row, dead) => panic!("{order:?}: {row:?}, {dead:?} dead letters"),
            }
        }
        for (order, row) in &rows {
            assert!(accepted.contains_key(order), "{order:?} {row:?}: nobody ordered that");
        }
        for (voucher, stock) in &self.sales {
            self.check_voucher(voucher, *stock);
        }
    }

    /// Redis, rows and sums agree about a voucher with this stock at first.
    pub fn check_voucher(&self, voucher: &str, stock: i64) {
        let rows = self.all_rows();
        let of_it = rows.iter().filter(|((of, _), row)| of == voucher && row.is_live());
        let live: Vec<&Row> = of_it.map(|(_, row)| row).collect();
        let units: i64 = live.iter().map(|row| row.units).sum();
        let tagged = self.tagged(voucher);
        let left = text(&self.run(&format!("GET seckill:stock:{tagged}")));
        let left: i64 = left.parse().expect("a stock");
        assert_eq!(units, stock - left, "{voucher}: units of rows, units sold");
        assert_eq!(self.units_sold(voucher), units, "{voucher}: voucher_sales, units of rows");
        self.check_conflicts();
        let users: BTreeSet<&str> = live.iter().map(|row| row.user.as_str()).collect();
        let buyers = match self.run(&format!("SMEMBERS seckill:order:{tagged}")) {
            Value::Array(buyers) => buyers.iter().map(text).collect::<BTreeSet<_>>(),
            other => panic!("{other:?}"),
        };
        let buyers: BTreeSet<&str> = buyers.iter().map(String::as_str).collect();
        assert_eq!(users, buyers, "{voucher}: users of rows, buyers");
        let info = pairs(self.run(&format!("SECKILL.INFO {voucher}")));
        if info["limit"] == "1" {
            assert_eq!(users.len(), live.len(), "{voucher}: a user has two rows");
        }
    }

    /// As many conflicts are counted as there are.
    pub fn check_conflicts(&self) {
        let sum = ["COALESCE(SUM(conflicts), 0)"];
        let counted = self.database.numbers(sum, "FROM seckill_voucher_sales");
        let rows = "FROM seckill_orders WHERE conflict IS NOT NULL";
        let found = self.database.numbers(["COUNT(*)"], rows);
        assert_eq!(counted, found, "conflicts counted, and found");
    }

    /// The sold units of a voucher according to the database.
    pub fn units_sold(&self, voucher: &str) -> i64 {
        let rows = self.database.texts(["voucher_id", "units"], "FROM seckill_voucher_sales");
        let of_it = rows.iter().find(|[of, _]| of == voucher);
        of_it.map_or(0, |[_, units]| units.parse().expect("units"))
    }

    pub fn accepted_count(&self) -> usize {
        self.accepted.lock().expect("nobody panicked").len()
    }
}

impl Row {
    pub fn is_live(&self) -> bool {
        self.state == "held" || self.state == "sold"
    }
}

/// Voucher, order id and user of an entry or a dead letter.
fn order_of(fields: &BTreeMap<String, String>) -> (OrderId, String) {
    let [voucher, id, user] =
        ["voucherId", "id", "userId"].map(|name| fields.get(name).cloned().unwrap_or_default());
    ((voucher, id), user)
}

/// The entries of a stream.
pub fn entries(server: &Server, stream: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let reply = server.call(&["XRANGE", stream, "-", "+"]);
    let entries: Vec<(String, Value)> = redis::from_redis_value(reply).expect("entries");
    entries.into_iter().map(|(id, fields)| (id, pairs(fields))).collect()
}

/// Names and values, alternating.
pub fn pairs(reply: Value) -> BTreeMap<String, String> {
    let Value::Array(items) = reply else { panic!("no pairs: {reply:?}") };
    let show = |value: &Value| match value {
        Value::Nil => "(nil)".to_owned(),
        Value::Array(_) => "(array)".to_owned(),
        other => text(other),
    };
    items.chunks(2).map(|pair| (show(&pair[0]), show(&pair[1]))).collect()
}

/// The generator of a random test; its seed is printed, and set by `SEED=<n> cargo test`.
pub fn random() -> fastrand::Rng {
    let seed = match std::env::var("SEED") {
        Ok(seed) => seed.parse().expect("SEED is a number"),
        Err(_) => fastrand::u64(..),
    };
    println!("SEED={seed}");
    fastrand::Rng::with_seed(seed)
}

/// The databases that are installed; the others are reported as left out.
pub fn databases() -> impl Iterator<Item = Database> {
    [Kind::Sqlite, Kind::Postgres, Kind::MariaDb, Kind::MySql]
        .into_iter()
        .filter_map(Database::open)
}
