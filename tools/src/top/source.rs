//! Reads a server: one connection, made again when it is lost.

use std::time::Instant;

use anyhow::{Result, bail};
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Cmd, RedisResult, Value, cmd};
use seckill_tools::sanitize::sanitize_bytes;
use seckill_tools::server::Place;
use seckill_tools::server_errors::unreached;
use seckill_tools::server_info::fields;

use crate::finder::{Finder, Round};
use crate::key_names::KeyNames;
use crate::options::Options;
use crate::reading::{Kind, Reading, Server, Stream, Voucher, counters};
use crate::replies;
use crate::selling::{self, Look, Selling, Wanted};

/// Pieces of the keys that are looked at a reading: ten thousand keys.
const STEPS: u32 = 20;
/// The same where only one frame is drawn, and no later reading goes on: a million keys.
const STEPS_ONCE: u32 = 2_000;

const SECTIONS: [&str; 8] =
    ["server", "clients", "memory", "persistence", "stats", "replication", "cluster", "seckill"];

/// A server to read.
pub struct Source {
    options: Options,
    server: Place,
    session: Option<Session>,
    selling: Selling,
}

/// What is kept as long as a connection lives.
struct Session {
    connection: MultiplexedConnection,
    place: String,
    finder: Option<Finder>,
}

impl Source {
    pub fn new(options: &Options) -> Result<Self> {
        let server = options.server.place()?;
        Ok(Self { options: options.clone(), server, session: None, selling: Selling::default() })
    }

    /// Reads everything once. After an error the next reading connects again.
    pub async fn read(&mut self) -> Result<Reading> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.connect().await.map_err(|error| unreached(self.server.name(), error))?,
        };
        let reading = session.read(&self.options, &mut self.selling).await?;
        self.session = Some(session);
        Ok(reading)
    }

    /// Host and port, without a password.
    fn place(&self) -> String {
        match self.server.is_by_sentinels() {
            true => self.server.name().to_owned(),
            false => self.server.addr().to_string(),
        }
    }

    async fn connect(&self) -> RedisResult<Session> {
        let connection = self.server.connect().await?;
        Ok(Session { connection, place: self.place(), finder: None })
    }
}

impl Session {
    async fn read(&mut self, options: &Options, selling: &mut Selling) -> Result<Reading> {
        let at = Instant::now();
        let (info, clock_ms) = self.info().await?;
        let fields = fields(&info);
        let server = Server::from_fields(self.place.clone(), &fields);
        let mut notes = Vec::new();
        let counters = counters(&fields);
        if counters.is_empty() {
            notes.push("INFO seckill is empty: the module is not loaded".to_owned());
        }
        let key_names = KeyNames::from_info(&info, server.is_cluster)
            .with_stock_prefix(options.stock_prefix.as_deref());
        let (names, left_out) = self.names(&key_names, options, &mut notes).await?;
        let mut read = self.vouchers(&names, &key_names, options, &mut notes).await?;
        if let Some(now_ms) = clock_ms {
            self.overdue(now_ms, &key_names, &mut read).await?;
            for (name, voucher) in &mut read {
                self.sold_out(name, voucher, &key_names, now_ms, selling).await?;
            }
        }
        selling.end(&names, clock_ms);
        let vouchers = read.into_iter().map(|(_, voucher)| voucher).collect();
        let mut streams = key_names.streams(&names);
        if !options.streams.is_empty() {
            let kind =
                |name: &[u8]| streams.iter().find(|(_, it)| it == name).map(|(kind, _)| *kind);
            let given = options.streams.iter().map(|name| name.as_bytes());
            let given = given.map(|name| (kind(name).unwrap_or_default(), name.to_vec()));
            streams = given.collect();
        }
        let streams = self.streams(&streams, &mut notes).await?;
        notes.dedup();
        Ok(Reading { at, clock_ms, server, counters, vouchers, left_out, streams, notes })
    }

    /// Sends all commands, then reads their replies; an error reply is one.
    async fn ask(&mut self, commands: &[Cmd]) -> RedisResult<Vec<Value>> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let mut pipeline = redis::pipe();
        for command in commands {
            pipeline.add_command(command.clone());
        }
        self.connection.req_packed_commands(&pipeline, 0, commands.len()).await
    }

    /// The sections of INFO, and the server's clock.
    async fn info(&mut self) -> Result<(String, Option<i64>)> {
        let sections = SECTIONS.map(|section| cmd("INFO").arg(section).to_owned());
        let commands: Vec<Cmd> = sections.into_iter().chain([cmd("TIME")]).collect();
        let mut info = String::new();
        let mut replies = self.ask(&commands).await?;
        let clock_ms = replies.pop().and_then(|time| replies::clock_ms(&time));
        for reply in replies {
            match reply.extract_error()? {
                Value::BulkString(bytes) => info += &String::from_utf8_lossy(&bytes),
                other => bail!("INFO gave {other:?}"),
            }
            info.push('\n');
        }
        Ok((info, clock_ms))
    }

    /// The vouchers to read, and how many more there are.
    async fn names(
        &mut self,
        key_names: &KeyNames,
        options: &Options,
        notes: &mut Vec<String>,
    ) -> RedisResult<(Vec<Vec<u8>>, usize)> {
        if !options.vouchers.is_empty() {
            let given = options.vouchers.iter().map(|name| name.as_bytes().to_vec());
            return Ok((given.collect(), 0));
        }
        let finder = self.finder.take().filter(|finder| finder.is_for(key_names));
        let mut finder = finder.unwrap_or_else(|| Finder::new(key_names));
        let steps = if options.once { STEPS_ONCE } else { STEPS };
        let mut looked = Ok(());
        for _ in 0..steps {
            let mut replies = self.ask(&[finder.next_scan()]).await?;
            match finder.take(key_names, replies.pop().unwrap_or(Value::Nil)) {
                Ok(Round::GoesOn) => {}
                Ok(Round::Ended) => break,
                Err(code) => {
                    looked = Err(code);
                    break;
                }
            }
        }
        match looked {
            Err(code) => notes.push(format!("SCAN: {code}; name the vouchers by --vouchers")),
            Ok(()) if !finder.is_whole() => {
                notes.push("not all keys have been scanned yet, more vouchers may appear".into());
            }
            Ok(()) => {}
        }
        let max = options.vouchers_max as usize;
        let left_out = finder.vouchers().count().saturating_sub(max);
        if left_out > 0 {
            let next = finder.next_stocks();
            let answers = self.ask(&infos(&next)).await?;
            let left =
                answers.into_iter().map(|reply| replies::voucher(String::new(), reply).info.left);
            finder.take_stocks(&next, left.collect());
        }
        let names = finder.selling(max);
        self.finder = Some(finder);
        Ok((names, left_out))
    }

    async fn vouchers(
        &mut self,
        names: &[Vec<u8>],
        key_names: &KeyNames,
        options: &Options,
        notes: &mut Vec<String>,
    ) -> RedisResult<Vec<(Vec<u8>, Voucher)>> {
        let answers = self.ask(&infos(names)).await?;
        let mut vouchers = Vec::new();
        for (name, reply) in names.iter().zip(answers) {
            let shown_name = sanitize_bytes(name);
            let mut voucher = replies::voucher(shown_name, reply);
            // ERR: no such command. The keys tell what there is without the module, too.
            if matches!(voucher.info.state.as_str(), "ERR" | "NOPERM") {
                let get = cmd("GET").arg(key_names.stock_key(name)).to_owned();
                let count = cmd("SCARD").arg(key_names.buyers_key(name)).to_owned();
                let keys = self.ask(&[get, count]).await?;
                if !replies::by_keys(&mut voucher, &keys) {
                    notes.push(format!("SECKILL.INFO: {}", voucher.info.state));
                }
            }
            // One that was found may be gone by now; one that was asked for is reported.
            if voucher.info.state == "NOVOUCHER" && !options.vouchers.is_empty() {
                let key = sanitize_bytes(&key_names.stock_key(name));
                notes.push(format!("no voucher {}: there is no key {key}", voucher.name));
            }
            if voucher.info.state != "NOVOUCHER" || !options.vouchers.is_empty() {
                vouchers.push((name.clone(), voucher));
            }
        }
        Ok(vouchers)
    }

    /// Reads how overdue the holds of vouchers are.
    async fn overdue(
        &mut self,
        now_ms: i64,
        key_names: &KeyNames,
        vouchers: &mut [(Vec<u8>, Voucher)],
    ) -> RedisResult<()> {
        let has_holds = |it: &&mut (Vec<u8>, Voucher)| it.1.info.held > Some(0);
        let with_holds: Vec<_> = vouchers.iter_mut().filter(has_holds).collect();
        let first = |key| cmd("ZRANGE").arg(key).arg(0).arg(0).arg("WITHSCORES").to_owned();
        let asked = with_holds.iter().map(|(name, _)| first(key_names.holds_key(name)));
        let replies = self.ask(&asked.collect::<Vec<_>>()).await?;
        for ((_, voucher), first) in with_holds.into_iter().zip(replies) {
            voucher.overdue_ms = replies::overdue_ms(now_ms, &first);
        }
        Ok(())
    }

    /// Looks up what a sale has done since the reading before, if it has done anything.
    async fn sold_out(
        &mut self,
        name: &[u8],
        voucher: &mut Voucher,
        key_names: &KeyNames,
        now_ms: i64,
        selling: &mut Selling,
    ) -> RedisResult<()> {
        let mut found = Vec::new();
        for wanted in selling.wanted(name, &voucher.info) {
            found.push((wanted, self.moment(wanted, key_names.orders_of(name)).await?));
        }
        voucher.sold_out = selling.take(name, &voucher.info, now_ms, &found);
        Ok(())
    }

    /// When an entry was appended, in unix milliseconds; None if it can't be found.
    async fn moment(
        &mut self,
        wanted: Wanted,
        orders: Option<(Vec<u8>, &[u8], &[u8])>,
    ) -> RedisResult<Option<i64>> {
        let Some((stream, field, voucher)) = orders else { return Ok(None) };
        let mut last = None;
        for _ in 0..selling::STEPS {
            let replies = self.ask(&[wanted.command(&stream, last)]).await?;
            match replies.first().map_or(Look::Nothing, |it| selling::look(it, field, voucher)) {
                Look::Found(ms) => return Ok(Some(ms)),
                Look::GoesOn(id) => last = Some(id),
                Look::Nothing => break,
            }
        }
        Ok(None)
    }

    /// Those of the streams that are there.
    async fn streams(
        &mut self,
        names: &[(Kind, Vec<u8>)],
        notes: &mut Vec<String>,
    ) -> RedisResult<Vec<Stream>> {
        let asked = |(_, name): &(Kind, Vec<u8>)| {
            let length = cmd("XLEN").arg(name).to_owned();
            [length, cmd("XINFO").arg("GROUPS").arg(name).to_owned()]
        };
        let answers = self.ask(&names.iter().flat_map(asked).collect::<Vec<_>>()).await?;
        let mut streams = Vec::new();
        for ((kind, name), replies) in names.iter().zip(answers.chunks(2)) {
            match replies::stream(name, *kind, replies) {
                Ok(Some(stream)) => streams.push(stream),
                Ok(None) => {}
                Err(note) => notes.push(note),
            }
        }
        self.idle(&mut streams, notes).await?;
        Ok(streams)
    }

    /// Reads for how long the consumers of groups have read nothing that may have something to do.
    async fn idle(&mut self, streams: &mut [Stream], notes: &mut Vec<String>) -> RedisResult<()> {
        let mut asked = Vec::new();
        let mut groups = Vec::new();
        for stream in streams {
            for group in stream.groups.iter_mut().filter(|it| it.consumers > 0 && it.may_wait()) {
                let mut consumers = cmd("XINFO");
                consumers.arg("CONSUMERS").arg(&stream.raw_name).arg(&group.raw_name);
                asked.push(consumers);
                groups.push(group);
            }
        }
        for (group, reply) in groups.into_iter().zip(self.ask(&asked).await?) {
            match replies::idle(&reply) {
                Ok(idle) => group.idle = idle,
                Err(code) => notes.push(format!("XINFO CONSUMERS: {code}")),
            }
        }
        Ok(())
    }
}

fn infos(vouchers: &[Vec<u8>]) -> Vec<Cmd> {
    vouchers.iter().map(|name| cmd("SECKILL.INFO").arg(name).to_owned()).collect()
}
