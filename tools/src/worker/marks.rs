//! The mark that a group's rows and its server have in common, written at the first start of a
//! worker. It tells a database that was lost from a cut-over, and a server that is empty or another
//! one from a sale without orders.

use domain::entry_id::EntryId;
use domain::info::Names;
use domain::projection::Book;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{RedisResult, cmd};
use seckill_tools::server_info::fields;
use tracing::warn;

use crate::batch::Answer;
use crate::book::ask;
use crate::options::Options;
use crate::order_events::{OrderKey, Which};
use crate::source::Source;
use crate::store::{Fault, Store};

/// Of this many sales, the last that changed, a server without a mark is asked for.
const SALES_MAX: u32 = 100;

/// A random word, and how far the group had read its streams when its rows began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    word: String,
    /// Of the streams of orders, confirmed orders and releases.
    positions: [EntryId; 3],
}

impl Mark {
    fn new(positions: [EntryId; 3]) -> Self {
        Self { word: format!("{:016x}", fastrand::u64(..)), positions }
    }

    /// A new one, with how far the group has read.
    pub async fn of(source: &mut Source) -> RedisResult<Self> {
        let mut positions = [EntryId::default(); 3];
        for which in source.all() {
            let group = source.ours(which).await?;
            positions[which as usize] = group.unwrap_or_default().last_delivered;
        }
        Ok(Self::new(positions))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let word = words.next().filter(|word| !word.is_empty())?.to_owned();
        let mut position = || EntryId::parse(words.next()?.as_bytes());
        let positions = [position()?, position()?, position()?];
        words.next().is_none().then_some(Self { word, positions })
    }

    pub fn text(&self) -> String {
        let [orders, confirmed, released] = self.positions;
        format!("{} {orders} {confirmed} {released}", self.word)
    }

    /// The last entry that the group had read before its rows began.
    pub fn position(&self, which: Which) -> EntryId {
        self.positions[which as usize]
    }
}

/// The marks of the rows and of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    pub rows: Option<String>,
    pub server: Option<String>,
    /// The server has no mark, and a sale that the rows have, by its id, is on there.
    has_sale: bool,
}

/// What two marks say of each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// No worker has started yet.
    None,
    Same(Mark),
    /// The rows were lost, or this is another database.
    RowsLost(Mark),
    /// The server lost the mark and has a sale of the rows: it is what it was before its first
    /// worker, neither empty nor another one.
    Restored(Mark),
    /// The server is empty, or another one.
    OtherServer,
}

impl Marks {
    /// Asks both. The server's is a field of a hash beside the stream, by group.
    pub async fn read(source: &mut Source, store: &Store) -> Result<Self, Fault> {
        let rows = store.mark(source.name(Which::Orders), source.group()).await?;
        let server = of_server(source).await?;
        let has_sale = rows.is_some() && server.is_none() && {
            let sales = store.last_sales(SALES_MAX).await?;
            has_sale(source, sales).await?
        };
        Ok(Self { rows, server, has_sale })
    }

    pub fn meaning(&self) -> Meaning {
        let server = self.server.as_deref();
        match (self.rows.as_deref(), server.map(Mark::parse)) {
            (None, None) => Meaning::None,
            (None, Some(Some(mark))) => Meaning::RowsLost(mark),
            (Some(rows), Some(Some(mark))) if rows == mark.text() => Meaning::Same(mark),
            (Some(rows), None) if self.has_sale => {
                Mark::parse(rows).map_or(Meaning::OtherServer, Meaning::Restored)
            }
            _ => Meaning::OtherServer,
        }
    }

    /// Why nothing may end or be written, for a person.
    pub fn why(&self, stream: &str, database: &str) -> String {
        let has = match &self.server {
            None => "has no mark of its rows".to_owned(),
            Some(_) => "has the mark of other rows".to_owned(),
        };
        format!(
            "{stream} {has}: the server is empty, or --redis or --database ({database}) \
             name another one. Nothing is read. If this is the server from now on: seckill-worker \
             settle --adopt-server"
        )
    }
}

/// Makes the marks agree at the start of a worker; or says why nothing is read from this server.
pub async fn agree(
    source: &mut Source,
    store: &Store,
    options: &Options,
) -> Result<Option<String>, Fault> {
    let marks = Marks::read(source, store).await?;
    let [orders, group] = [source.name(Which::Orders), source.group()].map(str::to_owned);
    let database = store.database();
    match marks.meaning() {
        Meaning::Same(_) => {}
        Meaning::None => {
            let mark = Mark::of(source).await?.text();
            // Another worker may be first; and if this one dies now, the rows take the mark later.
            let kept = make(source, &mark).await?;
            store.set_mark(&orders, &group, &kept).await?;
            let ours = source.ours(Which::Orders).await?;
            let pending = ours.map_or(0, |group| group.pending);
            // Entries that another consumer has read and not acknowledged may be stored already.
            if pending > 0 && options.shop.statements().is_some() {
                warn!(
                    "{pending} entries of {orders} are pending for another consumer: if it has \
                     stored them and nothing makes the order id unique in the shop's tables, \
                     --statements write them a second time"
                );
            }
        }
        Meaning::RowsLost(mark) => {
            store.set_mark(&orders, &group, &mark.text()).await?;
            warn!(
                "{orders} was written to other rows before: the {database} database was lost, or \
                 is another one. What the group has acknowledged is not read again: \
                 seckill-worker check --repair"
            );
        }
        Meaning::Restored(mark) => {
            make(source, &mark.text()).await?;
            warn!(
                "{orders} has no mark of its rows, and the server has a sale of them: it was \
                 restored to what it was before its first worker; it has the mark from now on. \
                 Compare: seckill-worker check"
            );
        }
        Meaning::OtherServer => return Ok(Some(marks.why(&orders, database))),
    }
    Ok(None)
}

/// The hash of marks beside the stream of orders, in its slot, and the group's field.
fn key_and_field(source: &Source) -> (String, String) {
    let orders = source.name(Which::Orders);
    let (name, tag) = orders.split_at(orders.find(":{").unwrap_or(orders.len()));
    (format!("{name}.mark{tag}"), source.group().to_owned())
}

async fn of_server(source: &mut Source) -> RedisResult<Option<String>> {
    let (key, group) = key_and_field(source);
    cmd("HGET").arg(key).arg(group).query_async(source.connection()).await
}

/// Writes a mark on the server if there is none. Returns the one that is there now.
async fn make(source: &mut Source, mark: &str) -> RedisResult<String> {
    let (key, group) = key_and_field(source);
    let mut both = redis::pipe();
    both.atomic().cmd("HSETNX").arg(&key).arg(&group).arg(mark).ignore();
    both.cmd("HGET").arg(&key).arg(&group);
    let (kept,): (String,) = both.query_async(source.connection()).await?;
    Ok(kept)
}

/// Writes a mark on the server, instead of the one that is there.
pub async fn set(source: &mut Source, mark: &str) -> RedisResult<()> {
    let (key, group) = key_and_field(source);
    cmd("HSET").arg(key).arg(group).arg(mark).query_async(source.connection()).await
}

/// Is one of these sales, each of a voucher, on here?
async fn has_sale(source: &mut Source, sales: Vec<OrderKey>) -> RedisResult<bool> {
    let its: Vec<_> = sales.into_iter().filter(|key| source.has_stream_of(&key.voucher)).collect();
    let answers = ask(source, its.iter()).await?;
    let is_on = |answer: &Answer| match answer {
        Answer::Has(_) | Answer::Waits(_) | Answer::Without(Book::Lacks) => true,
        Answer::Without(Book::Has(_) | Book::Older | Book::Over) | Answer::Unreadable(_) => false,
    };
    Ok(answers.values().any(is_on))
}

/// Why this does not look like the server of a sale; None if it does. A stream that never had an
/// entry says nothing: a worker that once named a wrong database made it there.
pub async fn looks_wrong(source: &mut Source) -> RedisResult<Option<String>> {
    let stream = source.stream(Which::Orders).await?;
    if stream.is_some_and(|stream| stream.last != EntryId::default()) {
        return Ok(None);
    }
    let name = source.name(Which::Orders).to_owned();
    let mut ours = 0;
    for which in source.all() {
        ours += u64::from(source.is_there(which).await?);
    }
    let mut info = cmd("INFO");
    let info: String = info.arg("seckill").query_async(source.connection()).await?;
    if stream.is_none() && Names::read(&info).is_none() {
        return Ok(Some(format!(
            "it has neither the module nor a stream {name}: load the module, or name by --stream \
             the stream that is filled"
        )));
    }
    other_database(source.connection(), ours).await
}

/// Whether a sale may be in another database than the named one, which has no more keys than so
/// many, a worker's own: in words.
pub async fn other_database(
    connection: &mut MultiplexedConnection,
    ours: u64,
) -> RedisResult<Option<String>> {
    let number = connection.get_db();
    let mut info = cmd("INFO");
    let keyspace: String = info.arg("keyspace").query_async(connection).await?;
    Ok(fuller(number, &keyspace, ours))
}

fn fuller(number: i64, keyspace: &str, ours: u64) -> Option<String> {
    let (databases, this) = (fields(keyspace), format!("db{number}"));
    let count = |keys: &str| keys.strip_prefix("keys=")?.split(',').next()?.parse().ok();
    let keys: Option<u64> = databases.get(&*this).map_or(Some(0), |keys| count(keys));
    let others = databases.keys().filter(|name| name.starts_with("db") && **name != this);
    let other = others.min().filter(|_| keys.is_some_and(|keys| keys <= ours))?;
    Some(format!(
        "{this} has nothing of a sale, and {other} has keys: name the number at the end of --redis"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_database_is_not_the_named_one_if_another_is_not() {
        let both = "# Keyspace\r\ndb0:keys=3,expires=0,avg_ttl=0\r\ndb12:keys=1,expires=0\r\n";
        let told = fuller(0, both, 3).unwrap_or_default();
        assert!(told.starts_with("db0 has nothing of a sale, and db12 has keys"), "{told}");
        assert!(fuller(1, both, 0).unwrap_or_default().contains("and db0 has"));
        for (number, keyspace, ours) in [
            (0, both, 2),
            (12, both, 0),
            (0, "", 0),
            (0, "db0:keys=1", 1),
            (0, "db0:x\r\ndb1:y", 9),
        ] {
            assert_eq!(fuller(number, keyspace, ours), None, "{number} {keyspace}");
        }
    }

    #[test]
    fn marks_are_compared() {
        let position = |ms| EntryId { ms, seq: 1 };
        let [one, two] = [1, 2].map(|ms| Mark::new([position(ms); 3]));
        let marks = |rows: Option<&Mark>, server: Option<&Mark>| Marks {
            rows: rows.map(Mark::text),
            server: server.map(Mark::text),
            has_sale: false,
        };
        assert_eq!(Mark::parse(&one.text()), Some(one.clone()));
        for (rows, server, meaning) in [
            (None, None, Meaning::None),
            (Some(&one), Some(&one), Meaning::Same(one.clone())),
            (None, Some(&one), Meaning::RowsLost(one.clone())),
            (Some(&one), None, Meaning::OtherServer),
            (Some(&one), Some(&two), Meaning::OtherServer),
        ] {
            assert_eq!(marks(rows, server).meaning(), meaning);
        }
        for text in ["", "x", "x 1-1 1-1", "x 1-1 1-1 1-1 1-1", "x 1-1 1-1 soon", " 1-1 1-1 1-1"] {
            assert_eq!(Mark::parse(text), None, "{text}");
            let text = Some(text.to_owned());
            let garbled = Marks { rows: None, server: text.clone(), has_sale: false };
            assert_eq!(garbled.meaning(), Meaning::OtherServer);
            let garbled = Marks { rows: text, server: None, has_sale: true };
            assert_eq!(garbled.meaning(), Meaning::OtherServer);
        }
        let restored = Marks { has_sale: true, ..marks(Some(&one), None) };
        assert_eq!(restored.meaning(), Meaning::Restored(one.clone()));
        assert_eq!(one.position(Which::Released), position(1));
    }
}
