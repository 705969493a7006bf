//! What a server answers at one moment, as plain data.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use domain::info;
use seckill_tools::sale_info::SaleInfo;
use seckill_tools::server_info::{is_node, product};

use crate::selling::SoldOut;

/// One reading of everything that is watched.
#[derive(Clone, Debug)]
pub struct Reading {
    pub at: Instant,
    /// The server's clock, in unix milliseconds, if it may be asked.
    pub clock_ms: Option<i64>,
    pub server: Server,
    /// The fields of `INFO seckill` without their prefix; none without the module.
    pub counters: BTreeMap<String, u64>,
    pub vouchers: Vec<Voucher>,
    /// Vouchers that were found and not read.
    pub left_out: usize,
    pub streams: Vec<Stream>,
    /// What could not be read, and why.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// Host and port, or the path of its socket.
    pub place: String,
    /// Redis, Valkey or Redict.
    pub product: &'static str,
    pub version: String,
    pub is_primary: bool,
    /// Another one after every start.
    pub run_id: String,
    pub uptime_s: u64,
    pub ops_per_s: u64,
    pub memory_bytes: u64,
    /// Its limit; 0: there is none.
    pub memory_max_bytes: u64,
    pub evicted_keys: u64,
    /// Whether the server could last save its data, by what it saves to.
    pub saved: Vec<(&'static str, bool)>,
    pub clients: u64,
    pub is_cluster: bool,
}

/// The state of a voucher's sale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Voucher {
    pub name: String,
    /// Its state is the code word of the error where SECKILL.INFO gave no answer.
    pub info: SaleInfo,
    /// How long ago the earliest of its holds was due; 0: none is.
    pub overdue_ms: Option<i64>,
    /// How long it took to sell everything, while nothing is left.
    pub sold_out: Option<SoldOut>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    pub name: String,
    /// As the server has it.
    pub raw_name: Vec<u8>,
    pub kind: Kind,
    pub entries: u64,
    pub groups: Vec<Group>,
}

/// What the entries of a stream are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    Orders,
    Confirmed,
    Released,
    DeadLetters,
    #[default]
    Other,
}

impl Stream {
    /// Entries ever appended, as its groups know; those that are there where no group does.
    pub fn appended(&self) -> u64 {
        let known = self.groups.iter().filter_map(|group| Some(group.read? + group.lag?));
        known.max().unwrap_or(0).max(self.entries)
    }
}

/// A group with unread entries is silent after this time. The worker reads twice a second.
const SILENT_AFTER: Duration = Duration::from_secs(5);
/// The same of one that has only entries to acknowledge. A worker tries those again every 30
/// seconds or more often, by default, which every server counts.
const SILENT_PENDING_AFTER: Duration = Duration::from_secs(60);

/// A consumer group of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    /// As the server has it.
    pub raw_name: Vec<u8>,
    pub consumers: u64,
    /// Time since one of its consumers read last; None if it has none, or they were not asked.
    /// Redis 7.0 counts only what was read, later servers and Valkey each attempt.
    pub idle: Option<Duration>,
    /// Entries that were ever read; None if the server can't tell.
    pub read: Option<u64>,
    /// Entries that were read and are not acknowledged.
    pub pending: u64,
    /// Entries that no consumer has read; None if the server can't tell.
    pub lag: Option<u64>,
}

impl Group {
    /// Something is unread, or may be.
    pub fn may_lag(&self) -> bool {
        self.lag != Some(0)
    }

    /// Something is unread, or not acknowledged, or may be.
    pub fn may_wait(&self) -> bool {
        self.may_lag() || self.pending > 0
    }

    /// For how long nobody has read although something is there to do: a consumer that was killed
    /// stays in its group. None if somebody reads, or that is not known.
    pub fn silent(&self) -> Option<Duration> {
        let after = match (self.lag, self.pending) {
            (Some(1..), _) => SILENT_AFTER,
            (_, 1..) => SILENT_PENDING_AFTER,
            _ => return None,
        };
        self.idle.filter(|idle| *idle >= after)
    }
}

/// The counters of the module among the fields of INFO.
pub fn counters(fields: &HashMap<&str, &str>) -> BTreeMap<String, u64> {
    let ours = fields.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix("seckill_")?;
        // A name may consist of digits.
        let is_name = info::field(name).is_some_and(|field| field.kind == info::Kind::Name);
        if is_name { None } else { Some((name.to_owned(), value.parse().ok()?)) }
    });
    ours.collect()
}

impl Server {
    pub fn from_fields(place: String, fields: &HashMap<&str, &str>) -> Self {
        let number = |name| fields.get(name).and_then(|value| value.parse().ok()).unwrap_or(0);
        let text = |name| fields.get(name).map(|value| (*value).to_owned()).unwrap_or_default();
        let (product, version) = product(fields);
        let is_ok = |name| fields.get(name).is_none_or(|status| *status == "ok");
        let mut saved = vec![("rdb", is_ok("rdb_last_bgsave_status"))];
        if number("aof_enabled") == 1 {
            let is_written = is_ok("aof_last_write_status");
            saved.push(("aof", is_written && is_ok("aof_last_bgrewrite_status")));
        }
        Self {
            place,
            product,
            version,
            is_primary: fields.get("role") != Some(&"slave"),
            run_id: text("run_id"),
            uptime_s: number("uptime_in_seconds"),
            ops_per_s: number("instantaneous_ops_per_sec"),
            memory_bytes: number("used_memory"),
            memory_max_bytes: number("maxmemory"),
            evicted_keys: number("evicted_keys"),
            saved,
            clients: number("connected_clients"),
            is_cluster: is_node(fields),
        }
    }
}

#[cfg(test)]
mod tests {
    use seckill_tools::server_info::fields;

    use super::*;

    #[test]
    fn info_is_understood() {
        let info = "# Server\r\nredis_version:7.2.4\r\nvalkey_version:9.1.2\r\nrole:slave\r\n\
                    run_id:abc\r\nseckill_tries_accepted:7\r\nseckill_odd:x\r\n\
                    seckill_stock_prefix:7\r\n";
        let fields = fields(info);
        let server = Server::from_fields("here".to_owned(), &fields);
        assert_eq!((server.product, server.version.as_str()), ("Valkey", "9.1.2"));
        assert!(!server.is_primary && !server.is_cluster);
        let counters = counters(&fields);
        assert_eq!(counters.into_iter().collect::<Vec<_>>(), [("tries_accepted".to_owned(), 7)]);
    }

    #[test]
    fn what_is_not_saved_is_known() {
        let saved = |info: &str| Server::from_fields(String::new(), &fields(info)).saved;
        assert_eq!(saved("rdb_last_bgsave_status:ok\r\naof_enabled:0\r\n"), [("rdb", true)]);
        let full = "aof_enabled:1\r\naof_last_write_status:err\r\nrdb_last_bgsave_status:err\r\n";
        assert_eq!(saved(full), [("rdb", false), ("aof", false)]);
        let rewrite = "aof_enabled:1\r\naof_last_bgrewrite_status:err\r\n";
        assert_eq!(saved(rewrite), [("rdb", true), ("aof", false)]);
    }
}
