//! The mark that a group's rows and its server have in common, written at the first start of a
//! worker. It tells a database that was lost from a cut-over, and a server that is empty or another
//! one from a sale without orders.

use domain::entry_id::EntryId;
use domain::info::Names;
use domain::projection::Book;
use redis::{RedisResult, cmd};

use crate::batch::Answer;
use crate::book::ask;
use crate::order_events::OrderKey;
use crate::source::Source;
use crate::store::{Fault, Store};
use crate::stream_entry::Which;

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
            positions[which as usize] = source.last_delivered(which).await?;
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
        let server = source.mark().await.map_err(Fault::Server)?;
        let has_sale = rows.is_some() && server.is_none() && {
            let sales = store.last_sales(SALES_MAX).await?;
            source.has_sale(sales).await.map_err(Fault::Server)?
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
    pub fn why(&self, server: &str, stream: &str, database: &str) -> String {
        let has = match &self.server {
            None => "has no mark of its rows".to_owned(),
            Some(_) => "has the mark of other rows".to_owned(),
        };
        format!(
            "{server}: {stream} {has}: the server is empty, or --redis or --database ({database}) \
             name another one. Nothing is read. If this is the server from now on: seckill-worker \
             settle --adopt-server"
        )
    }
}

/// Makes the marks agree at the start of a worker, or says that they don't. Returns what they were.
pub async fn agree(source: &mut Source, store: &Store) -> Result<(Marks, Meaning), Fault> {
    let marks = Marks::read(source, store).await?;
    let meaning = marks.meaning();
    if meaning == Meaning::None {
        let mark = Mark::of(source).await.map_err(Fault::Server)?.text();
        // Another worker may be first; and if this one dies now, the rows take the mark later.
        let kept = source.make_mark(&mark).await.map_err(Fault::Server)?;
        store.set_mark(source.name(Which::Orders), source.group(), &kept).await?;
    }
    if let Meaning::RowsLost(mark) = &meaning {
        store.set_mark(source.name(Which::Orders), source.group(), &mark.text()).await?;
    }
    if let Meaning::Restored(mark) = &meaning {
        source.make_mark(&mark.text()).await.map_err(Fault::Server)?;
    }
    Ok((marks, meaning))
}

impl Source {
    /// The hash of marks beside the stream of orders, in its slot.
    fn mark_key(&self) -> String {
        let orders = self.name(Which::Orders);
        let (name, tag) = orders.split_at(orders.find(":{").unwrap_or(orders.len()));
        format!("{name}.mark{tag}")
    }

    pub async fn mark(&mut self) -> RedisResult<Option<String>> {
        let (key, group) = (self.mark_key(), self.group().to_owned());
        cmd("HGET").arg(key).arg(group).query_async(self.connection()).await
    }

    /// Writes a mark if there is none. Returns the one that is there now.
    pub async fn make_mark(&mut self, mark: &str) -> RedisResult<String> {
        let (key, group) = (self.mark_key(), self.group().to_owned());
        let mut both = redis::pipe();
        both.atomic().cmd("HSETNX").arg(&key).arg(&group).arg(mark).ignore();
        both.cmd("HGET").arg(&key).arg(&group);
        let (kept,): (String,) = both.query_async(self.connection()).await?;
        Ok(kept)
    }

    pub async fn set_mark(&mut self, mark: &str) -> RedisResult<()> {
        let (key, group) = (self.mark_key(), self.group().to_owned());
        cmd("HSET").arg(key).arg(group).arg(mark).query_async(self.connection()).await
    }

    /// Is one of these sales, each of a voucher, on here?
    async fn has_sale(&mut self, sales: Vec<OrderKey>) -> RedisResult<bool> {
        let its: Vec<_> = sales.into_iter().filter(|key| self.has_stream_of(key)).collect();
        let answers = ask(self, its.iter()).await?;
        let is_on = |answer: &Answer| match answer {
            Answer::Has(_) | Answer::Waits(_) | Answer::Without(Book::Lacks) => true,
            Answer::Without(Book::Has(_) | Book::Older | Book::Over) | Answer::Unreadable(_) => {
                false
            }
        };
        Ok(answers.values().any(is_on))
    }

    /// Whether the orders of a voucher are in this stream.
    pub fn has_stream_of(&self, key: &OrderKey) -> bool {
        let orders = self.name(Which::Orders);
        let base = orders.split(":{").next().unwrap_or_default();
        let naming = self.naming(key.voucher.as_bytes());
        naming.is_ok_and(|naming| naming.stream(base.as_bytes()) == orders.as_bytes())
    }

    /// How far the group has read; the beginning without a stream or a group.
    pub async fn last_delivered(&mut self, which: Which) -> RedisResult<EntryId> {
        match self.is_there(which).await? {
            true => {
                let groups = self.groups(which).await?;
                Ok(self.ours(&groups).map_or_else(EntryId::default, |group| group.last_delivered))
            }
            false => Ok(EntryId::default()),
        }
    }

    /// Is there such a key, whatever it is?
    pub async fn is_there(&mut self, which: Which) -> RedisResult<bool> {
        let name = self.name(which).to_owned();
        let kind: String = cmd("TYPE").arg(name).query_async(self.connection()).await?;
        Ok(kind != "none")
    }

    /// Why this does not look like the server of a sale; None if it does.
    pub async fn looks_wrong(&mut self) -> RedisResult<Option<String>> {
        if self.is_there(Which::Orders).await? {
            return Ok(None);
        }
        let name = self.name(Which::Orders).to_owned();
        let number = format!("db{}", redis::aio::ConnectionLike::get_db(self.connection()));
        let mut asked = redis::pipe();
        asked.cmd("INFO").arg("seckill").cmd("INFO").arg("keyspace");
        let (ours, databases): (String, String) = asked.query_async(self.connection()).await?;
        if Names::read(&ours).is_none() {
            return Ok(Some(format!(
                "it has neither the module nor a stream {name}: load the module, or name by \
                 --stream the stream that is filled"
            )));
        }
        let full = databases.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name);
        let full: Vec<&str> = full.filter(|name| name.starts_with("db")).collect();
        let other = full.first().filter(|_| !full.contains(&&*number));
        Ok(other.map(|other| {
            format!("{number} is empty, and {other} is not: name the number at the end of --redis")
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
