//! The pairing of a group's tables with its server: an id that both have, written at the first
//! start of a worker. It tells a database that was lost, and a server that is empty or another one,
//! from a sale without orders.

use domain::entry_id::EntryId;
use domain::info::Names;
use redis::aio::ConnectionLike;
use redis::{RedisResult, cmd};
use seckill_tools::server_info::fields;
use tracing::warn;

use crate::options::Options;
use crate::order_events::Which;
use crate::settings::is_refused;
use crate::source::Source;
use crate::store::{Fault, Group, Store};

/// A random word, and how far the group had read its streams when its tables began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairingId {
    word: String,
    /// Of the streams of orders, confirmed orders and releases.
    positions: [EntryId; 3],
}

/// What server and tables say of each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Neither has an id: no worker has started yet.
    New,
    Same(Group),
    /// Only the server has an id: the database was lost, or is another one.
    TablesLost(String),
    /// Only the tables have one, or both have different ones: the server is empty, older than its
    /// first worker, or another one.
    OtherServer,
}

impl PairingId {
    fn new(positions: [EntryId; 3]) -> Self {
        Self { word: format!("{:016x}", fastrand::u64(..)), positions }
    }

    /// A new one, with how far the group has read.
    async fn of(source: &mut Source) -> RedisResult<Self> {
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

    /// The last entry of an order that the group had read before its tables began.
    pub fn began(&self) -> EntryId {
        self.positions[Which::Orders as usize]
    }
}

impl Pairing {
    /// Asks both. The server's id is a field of a hash beside the stream, by group.
    pub async fn read(source: &mut Source, store: &Store) -> Result<Self, Fault> {
        let tables = store.group(source.name(Which::Orders), source.group()).await?;
        let server = of_server(source).await?;
        Ok(match (tables, server) {
            (None, None) => Self::New,
            (None, Some(id)) => Self::TablesLost(id),
            (Some(group), Some(id)) if group.pairing_id == id => Self::Same(group),
            _ => Self::OtherServer,
        })
    }
}

/// Why nothing is read, for an operator.
pub fn why_unpaired(source: &Source, database: &str) -> String {
    format!(
        "{} is not paired with the tables in {database}: the server is empty, was restored to what \
         it was before its first worker, or --redis or --database name another one. Nothing is \
         read. If this is the server from now on: seckill-worker resolve --re-pair",
        source.name(Which::Orders)
    )
}

/// The run of the server, which ends with its process, or when it has followed another one, and
/// has what that one had; empty if the server does not tell this user.
async fn run_id(source: &mut Source) -> RedisResult<String> {
    let mut both = redis::pipe();
    both.cmd("INFO").arg("server").cmd("INFO").arg("replication");
    match both.query_async::<(String, String)>(source.connection()).await {
        Ok((server, replication)) => Ok(run_in(&(server + &replication))),
        Err(error) if is_refused(&error) => Ok(String::new()),
        Err(error) => Err(error),
    }
}

fn run_in(info: &str) -> String {
    let fields = fields(info);
    let field = |name| fields.get(name).copied().unwrap_or_default();
    let followed = field("master_replid2");
    // Zeros where it has followed none; and the column has room for 64 bytes.
    let is_none = followed.bytes().all(|it| it == b'0');
    let followed = followed.get(..16).filter(|_| !is_none).unwrap_or_default();
    format!("{} {followed}", field("run_id")).trim_end().to_owned()
}

/// Pairs server and tables at the start of a worker, and sees whether the server is another run
/// than the one that was last read; or says why nothing is read from this server. Also whether
/// nothing was read from it before.
///
/// A worker that runs `--once` with the database that is assumed where none is named begins no
/// history there: the group's database is another one, and would never get these entries.
pub async fn pair(
    source: &mut Source,
    store: &Store,
    options: &Options,
) -> Result<Result<(Group, bool), String>, Fault> {
    let [orders, name] = [source.name(Which::Orders), source.group()].map(str::to_owned);
    let run_id = run_id(source).await?;
    let pairing = Pairing::read(source, store).await?;
    let is_new = pairing == Pairing::New;
    let has_tables = matches!(pairing, Pairing::Same(_) | Pairing::OtherServer);
    if options.once && !has_tables && options.site.is_database_assumed() {
        let read = source.ours(Which::Orders).await?.unwrap_or_default().last_delivered;
        if pairing != Pairing::New || read != EntryId::default() {
            let group = source.group();
            return Ok(Err(format!(
                "group {group} has read {orders} into another database: name it by --database"
            )));
        }
    }
    let mut group = match pairing {
        Pairing::Same(group) => group,
        Pairing::New => {
            let id = PairingId::of(source).await?.text();
            // Another worker may be first; and if this one dies now, the tables take the id later.
            let pairing_id = set_if_none(source, &id).await?;
            let pending = source.ours(Which::Orders).await?.map_or(0, |group| group.pending);
            // Entries that another consumer has read and not acknowledged may be stored already.
            if pending > 0 && options.shop.statements().is_some() {
                warn!(
                    "{pending} entries of {orders} are pending for another consumer: if it has \
                     stored them and nothing makes the order id unique in the shop's tables, \
                     --statements write them a second time"
                );
            }
            let group = Group { pairing_id, run_id: run_id.clone(), ..Group::default() };
            store.save_group(&orders, &name, &group).await?;
            group
        }
        Pairing::TablesLost(pairing_id) => {
            warn!(
                "{orders} was written to other tables before: the {} database was lost, or is \
                 another one. What the group has acknowledged is not read again: seckill-worker \
                 check --repair",
                store.database()
            );
            let unchecked = Some("the tables were lost, or are others".to_owned());
            let group = Group { pairing_id, run_id: run_id.clone(), unchecked, ..Group::default() };
            store.save_group(&orders, &name, &group).await?;
            group
        }
        Pairing::OtherServer => return Ok(Err(why_unpaired(source, store.database()))),
    };
    if group.run_id != run_id {
        group.run_id = run_id;
        group
            .unchecked
            .get_or_insert_with(|| "the server was started again, or was a replica".to_owned());
        store.save_group(&orders, &name, &group).await?;
    }
    Ok(Ok((group, is_new)))
}

/// Pairs server and tables from now on, whatever both had.
pub async fn re_pair(source: &mut Source, store: &Store) -> Result<(), Fault> {
    let [orders, name] = [source.name(Which::Orders), source.group()].map(str::to_owned);
    let id = PairingId::of(source).await?.text();
    let (key, field) = key_and_field(source);
    let set = cmd("HSET").arg(key).arg(field).arg(&id).query_async(source.connection()).await;
    let _: i64 = set?;
    let before = store.group(&orders, &name).await?.unwrap_or_default();
    let group = Group {
        pairing_id: id,
        run_id: run_id(source).await?,
        unchecked: Some("server and tables were paired anew".to_owned()),
        ..before
    };
    store.save_group(&orders, &name, &group).await
}

/// The hash of ids beside the stream of orders, in its slot, and the group's field.
fn key_and_field(source: &Source) -> (String, String) {
    let orders = source.name(Which::Orders);
    let (name, tag) = orders.split_at(orders.find(":{").unwrap_or(orders.len()));
    (format!("{name}.pairing{tag}"), source.group().to_owned())
}

async fn of_server(source: &mut Source) -> RedisResult<Option<String>> {
    let (key, group) = key_and_field(source);
    cmd("HGET").arg(key).arg(group).query_async(source.connection()).await
}

/// Writes an id on the server if there is none. Returns the one that is there now.
async fn set_if_none(source: &mut Source, id: &str) -> RedisResult<String> {
    let (key, group) = key_and_field(source);
    let mut both = redis::pipe();
    both.atomic().cmd("HSETNX").arg(&key).arg(&group).arg(id).ignore();
    both.cmd("HGET").arg(&key).arg(&group);
    let (kept,): (String,) = both.query_async(source.connection()).await?;
    Ok(kept)
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
    connection: &mut impl ConnectionLike,
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
        let found = fuller(0, both, 3).unwrap_or_default();
        assert!(found.starts_with("db0 has nothing of a sale, and db12 has keys"), "{found}");
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

    /// A replica that becomes the primary continues the history of the one that it has followed.
    #[test]
    fn a_server_that_has_followed_another_one_is_another_run() {
        let info =
            |replid2: String| format!("# Server\r\nrun_id:0ab\r\nmaster_replid2:{replid2}\r\n");
        assert_eq!(run_in(&info("0".repeat(40))), "0ab");
        assert_eq!(run_in(&info("c0".repeat(20))), "0ab c0c0c0c0c0c0c0c0");
        assert_eq!(run_in("run_id:0ab\r\n"), "0ab");
        assert_eq!(run_in(""), "");
    }

    #[test]
    fn ids_are_read_as_they_are_written() {
        let id = PairingId::new([EntryId { ms: 1, seq: 2 }; 3]);
        assert_eq!(PairingId::parse(&id.text()), Some(id.clone()));
        assert_eq!(id.began(), EntryId { ms: 1, seq: 2 });
        for text in ["", "x", "x 1-1 1-1", "x 1-1 1-1 1-1 1-1", "x 1-1 1-1 soon", " 1-1 1-1 1-1"] {
            assert_eq!(PairingId::parse(text), None, "{text}");
        }
    }
}
