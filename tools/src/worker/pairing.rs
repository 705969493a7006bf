//! The pairing of a group's tables with its server: an id that both have, written at the first
//! start of a worker. It tells a database that was lost, and a server that is empty or another one,
//! from a sale without orders.

use domain::entry_id::EntryId;
use domain::info::Names;
use redis::aio::ConnectionLike;
use redis::{RedisResult, cmd};
use seckill_tools::server_info::fields;
use tracing::warn;

use crate::command_text::{CommandLine, WORKER, site_words};
use crate::options::{Options, Site};
use crate::order_events::Which;
use crate::settings::is_refused;
use crate::source::Source;
use crate::store::{Fault, Group, Store};

/// Behind an id in the tables that the server is to get.
const BEGUN: &str = " begun";

/// What server and tables say of each other.
///
/// A first start makes the groups, writes a new id as begun into the tables, if nothing is there,
/// then this id on the server, if nothing is there, and then into the tables that the server has
/// it. Only then anything is read. Each step may be done by another worker, and again: one that is
/// killed leaves nothing to undo. So
///
/// - an id is on the server only after it was in the tables that it was made for: where the tables
///   that are read afterwards have none, or one that is begun, they were lost or are others;
/// - tables have an id, not as begun, only after the server had it: where the server that is asked
///   afterwards has none, it is empty or another one;
/// - what was read is in tables that have the id, so no loss of it looks like a first start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Neither has an id: no worker has started yet.
    New,
    /// The tables have an id as begun, and the server has no other.
    Begun(Group),
    Same(Group),
    /// Only the server has an id: the database was lost, or is another one, in which maybe a first
    /// start has begun.
    TablesLost {
        id: String,
        begun: Option<Group>,
    },
    /// Only the tables have one, or both have different ones: the server is empty, older than its
    /// first worker, or another one.
    OtherServer,
}

/// A new id: a random word, and how far the group had read the stream of orders when its tables
/// began.
async fn new_id(source: &mut Source) -> RedisResult<String> {
    let began = source.ours(Which::Orders).await?.unwrap_or_default().last_delivered;
    Ok(format!("{:016x} {began}", fastrand::u64(..)))
}

/// The last entry of an order that the group of an id had read before its tables began.
pub fn began(id: &str) -> EntryId {
    let position = id.split(' ').nth(1).and_then(|text| EntryId::parse(text.as_bytes()));
    position.unwrap_or_default()
}

impl Pairing {
    /// Asks both. The server's id is a field of a hash beside the stream, by group.
    pub async fn read(source: &mut Source, store: &Store) -> Result<Self, Fault> {
        let before = of_server(source).await?;
        let tables = store.group(source.name(Which::Orders), source.group()).await?;
        Ok(Self::of(before, tables, of_server(source).await?))
    }

    /// By the server's id before and after the tables were read.
    fn of(before: Option<String>, tables: Option<Group>, after: Option<String>) -> Self {
        match (before, tables) {
            (_, Some(group)) if begun(&group).is_none() => match after {
                Some(id) if group.pairing_id == id => Self::Same(group),
                _ => Self::OtherServer,
            },
            (None, None) => Self::New,
            (None, Some(group)) => Self::Begun(group),
            (Some(id), Some(group)) if begun(&group) == Some(&id) => Self::Begun(group),
            (Some(id), begun) => Self::TablesLost { id, begun },
        }
    }
}

/// The id that the server is to get.
fn begun(group: &Group) -> Option<&str> {
    group.pairing_id.strip_suffix(BEGUN)
}

/// Why nothing is read, for an operator. The command names the stream: each hash tag is paired by
/// itself.
pub fn why_unpaired(source: &Source, site: &Site, database: &str) -> String {
    let stream = source.name(Which::Orders);
    let site = Site { stream: stream.to_owned(), ..site.clone() };
    let command = CommandLine::of(WORKER, &["resolve"], vec!["--re-pair".to_owned()], None);
    format!(
        "{stream} is not paired with the tables in {database}: the server is empty, was restored \
         to what it was before its first worker, or --redis or --database name another one. \
         Nothing is read. If this is the server from now on: {}",
        command.text(&site_words(&site, None))
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

/// Entries that another consumer has read and not acknowledged may be stored already.
async fn warn_of_pending(source: &mut Source, options: &Options) -> RedisResult<()> {
    let pending = source.ours(Which::Orders).await?.map_or(0, |group| group.pending);
    if pending > 0 && options.shop.statements().is_some() {
        warn!(
            "{pending} entries of {} are pending for another consumer: if it has stored them and \
             nothing makes the order id unique in the shop's tables, --statements write them a \
             second time",
            source.name(Which::Orders)
        );
    }
    Ok(())
}

/// Pairs server and tables at the start of a worker, and sees whether the server is another run
/// than the one that was last read; or says why nothing is read from this server.
///
/// A worker that runs `--once` with the database that is assumed where none is named begins no
/// history there: the group's database is another one, and would never get these entries.
pub async fn pair(
    source: &mut Source,
    store: &Store,
    options: &Options,
) -> Result<Result<Group, String>, Fault> {
    let [orders, name] = [source.name(Which::Orders), source.group()].map(str::to_owned);
    let is_assumed = options.once && options.site.is_database_assumed();
    loop {
        let run_id = run_id(source).await?;
        // Before the tables: their own workers only read once they are paired.
        let read = source.ours(Which::Orders).await?.unwrap_or_default().last_delivered;
        let pairing = Pairing::read(source, store).await?;
        let has_another = match pairing {
            Pairing::New | Pairing::Begun(_) => read != EntryId::default(),
            Pairing::TablesLost { .. } => true,
            Pairing::Same(_) | Pairing::OtherServer => false,
        };
        if is_assumed && has_another {
            return Ok(Err(format!(
                "group {name} has read {orders} into another database: name it by --database"
            )));
        }
        let group = |pairing_id, why: Option<&str>| {
            let (run_id, unchecked) = (run_id.clone(), why.map(str::to_owned));
            Group { pairing_id, run_id, unchecked, ..Group::default() }
        };
        match pairing {
            Pairing::Same(group) if group.run_id == run_id => return Ok(Ok(group)),
            Pairing::Same(before) => {
                let why = "the server was started again, or was a replica";
                let now = group(before.pairing_id.clone(), Some(why));
                store.pair_group(&orders, &name, Some(&before.pairing_id), &now).await?;
            }
            Pairing::New => {
                source.make_groups().await?;
                let id = new_id(source).await?;
                store.pair_group(&orders, &name, None, &group(id + BEGUN, None)).await?;
                warn_of_pending(source, options).await?;
            }
            Pairing::Begun(before) => {
                let id = begun(&before).unwrap_or_default();
                if set_if_none(source, id).await?.as_deref() == Some(id) {
                    let now = group(id.to_owned(), None);
                    store.pair_group(&orders, &name, Some(&before.pairing_id), &now).await?;
                }
            }
            Pairing::TablesLost { id, begun } => {
                let now = group(id, Some("the tables were lost, or are others"));
                let before = begun.as_ref().map(|begun| &*begun.pairing_id);
                store.pair_group(&orders, &name, before, &now).await?;
                warn!(
                    "{orders} was written to other tables before: the {} database was lost, or is \
                     another one. What the group has acknowledged is not read again: \
                     seckill-worker check --repair",
                    store.database()
                );
            }
            Pairing::OtherServer => {
                return Ok(Err(why_unpaired(source, &options.site, store.database())));
            }
        }
    }
}

/// Pairs server and tables from now on, whatever both had. The server is first: what is interrupted
/// looks like lost tables, or another server, and never like a first start.
pub async fn re_pair(source: &mut Source, store: &Store) -> Result<(), Fault> {
    let [orders, name] = [source.name(Which::Orders), source.group()].map(str::to_owned);
    let id = new_id(source).await?;
    let (key, field) = key_and_field(source);
    let set = cmd("HSET").arg(key).arg(field).arg(&id).query_async(source.connection()).await;
    let _: i64 = set?;
    let run_id = run_id(source).await?;
    let unchecked = Some("server and tables were paired anew".to_owned());
    let group = Group { pairing_id: id, run_id, unchecked, ..Group::default() };
    loop {
        let now = store.group(&orders, &name).await?.map(|now| now.pairing_id);
        if now.as_ref() == Some(&group.pairing_id) {
            return Ok(());
        }
        store.pair_group(&orders, &name, now.as_deref(), &group).await?;
    }
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
async fn set_if_none(source: &mut Source, id: &str) -> RedisResult<Option<String>> {
    let (key, group) = key_and_field(source);
    source.ask(cmd("HSETNX").arg(key).arg(group).arg(id)).await?;
    of_server(source).await
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
mod tests;
