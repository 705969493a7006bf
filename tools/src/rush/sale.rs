//! A voucher on the server: opened before the rush, read again after it.

use anyhow::{Context, Result, bail, ensure};
use redis::aio::MultiplexedConnection;
use redis::streams::StreamRangeReply;

use crate::managed;
use crate::names::Names;
use crate::options::{Method, Options};

/// Entries read from the stream at a time.
const PAGE: usize = 1_000;

/// Which server this is.
#[derive(Debug)]
pub struct Server {
    pub name: &'static str,
    pub version: String,
    pub cluster: bool,
}

impl Server {
    pub async fn ask(connection: &mut MultiplexedConnection) -> Result<Server> {
        let info = info(connection, "server").await?;
        let cluster = self::info(connection, "cluster").await?;
        let (name, version) = product(&info);
        Ok(Server { name, version, cluster: field(&cluster, "cluster_enabled") == Some("1") })
    }
}

/// Valkey and Redict also give a redis_version, the one that they are compatible with.
fn product(info: &str) -> (&'static str, String) {
    for (key, name) in
        [("valkey_version", "Valkey"), ("redict_version", "Redict"), ("redis_version", "Redis")]
    {
        if let Some(version) = field(info, key) {
            return (name, version.to_owned());
        }
    }
    ("server", "of unknown version".to_owned())
}

async fn info(connection: &mut MultiplexedConnection, section: &str) -> Result<String> {
    let reply = redis::cmd("INFO").arg(section).query_async(connection).await;
    reply.with_context(|| format!("INFO {section}"))
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// Seconds of CPU that the server has used.
pub async fn cpu_seconds(connection: &mut MultiplexedConnection) -> Result<f64> {
    let info = info(connection, "cpu").await?;
    let seconds = |name| field(&info, name).and_then(|text| text.parse::<f64>().ok());
    Ok(seconds("used_cpu_user").unwrap_or(0.0) + seconds("used_cpu_sys").unwrap_or(0.0))
}

/// Refuses a server without the command, before anything is written.
pub async fn need_module(connection: &mut MultiplexedConnection) -> Result<()> {
    let known: Vec<redis::Value> = redis::cmd("COMMAND")
        .arg("INFO")
        .arg("SECKILL.TRY")
        .query_async(connection)
        .await
        .context("COMMAND INFO")?;
    ensure!(
        known.iter().any(|command| *command != redis::Value::Nil),
        "this server has no SECKILL.TRY: load the module, or rush by the Lua script (--script)"
    );
    Ok(())
}

/// What the server knows of a voucher at one moment.
#[derive(Debug, PartialEq, Eq)]
pub struct State {
    pub stock: i64,
    pub buyers: u64,
    /// Id of the stream's last entry, "0" when it has none.
    pub last_entry: String,
    /// The same of the stream of give-backs.
    pub last_released: String,
}

impl State {
    pub async fn read(connection: &mut MultiplexedConnection, names: &Names) -> Result<State> {
        let stock: Option<i64> =
            redis::cmd("GET").arg(&names.stock).query_async(connection).await?;
        let Some(stock) = stock else {
            bail!("no stock key {}", names.stock);
        };
        let buyers = redis::cmd("SCARD").arg(&names.buyers).query_async(connection).await?;
        let last_entry = last_entry(connection, names.stream.as_deref()).await?;
        let last_released = self::last_entry(connection, names.released.as_deref()).await?;
        Ok(State { stock, buyers, last_entry, last_released })
    }
}

async fn last_entry(
    connection: &mut MultiplexedConnection,
    stream: Option<&str>,
) -> Result<String> {
    let Some(stream) = stream else { return Ok("0".to_owned()) };
    let last: StreamRangeReply = redis::cmd("XREVRANGE")
        .arg(stream)
        .arg("+")
        .arg("-")
        .arg("COUNT")
        .arg(1)
        .query_async(connection)
        .await
        .with_context(|| format!("the order stream {stream}"))?;
    Ok(last.ids.into_iter().next().map_or_else(|| "0".to_owned(), |entry| entry.id))
}

/// Opens the sale as the options ask and replies what was there before the first try.
/// A voucher that exists is changed only with `--reset` or `--keep`; no stream is ever touched.
pub async fn open(
    connection: &mut MultiplexedConnection,
    names: &Names,
    options: &Options,
) -> Result<State> {
    if options.keep {
        if options.managed.managed {
            managed::Standing::ask(connection, &names.voucher).await.context("--keep")?;
        }
        return State::read(connection, names).await.context("--keep");
    }
    for key in [&names.stock, &names.buyers] {
        let there: bool = redis::cmd("EXISTS").arg(key).query_async(connection).await?;
        if there && options.reset {
            // What the module sells may have more keys than these two.
            let drop = match options.method() {
                Method::Command => ("SECKILL.DROP", &names.voucher),
                Method::Script => ("UNLINK", key),
            };
            redis::cmd(drop.0).arg(drop.1).query_async::<()>(connection).await?;
        } else if there {
            bail!(
                "voucher {} exists ({key}): --reset deletes it and opens a new sale, \
                 --keep goes on selling it",
                names.voucher
            );
        }
    }
    if options.managed.managed {
        managed::create(connection, names, options).await?;
        return State::read(connection, names).await;
    }
    let opened: Option<String> = redis::cmd("SET")
        .arg(&names.stock)
        .arg(options.stock)
        .arg("NX")
        .query_async(connection)
        .await
        .context("opening the sale")?;
    ensure!(opened.is_some(), "somebody else opened voucher {} just now", names.voucher);
    State::read(connection, names).await
}

/// An order as the stream holds it.
#[derive(Debug, PartialEq, Eq)]
pub struct Order {
    pub user: String,
    pub order_id: String,
}

/// The voucher's orders appended to a stream after an entry, oldest first; None where no stream is
/// kept.
pub async fn orders_since(
    connection: &mut MultiplexedConnection,
    names: &Names,
    stream: Option<&String>,
    last_entry: &str,
) -> Result<Option<Vec<Order>>> {
    let Some(stream) = stream else {
        return Ok(None);
    };
    let mut orders = Vec::new();
    let mut after = last_entry.to_owned();
    loop {
        let page: StreamRangeReply = redis::cmd("XRANGE")
            .arg(stream)
            .arg(format!("({after}"))
            .arg("+")
            .arg("COUNT")
            .arg(PAGE)
            .query_async(connection)
            .await
            .with_context(|| format!("reading the order stream {stream}"))?;
        let Some(last) = page.ids.last() else {
            return Ok(Some(orders));
        };
        after.clone_from(&last.id);
        for entry in &page.ids {
            let text = |field: &String| entry.get::<String>(field);
            // Other vouchers share the stream.
            if text(&names.voucher_field).as_deref() == Some(names.voucher.as_str()) {
                orders.push(Order {
                    user: text(&names.user_field).unwrap_or_default(),
                    order_id: text(&names.order_field).unwrap_or_default(),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compatible_server_is_called_by_its_own_name() {
        let valkey = "# Server\r\nredis_version:7.2.4\r\nvalkey_version:9.1.2\r\n";
        assert_eq!(product(valkey), ("Valkey", "9.1.2".to_owned()));
        assert_eq!(product("redis_version:7.0.15\r\n"), ("Redis", "7.0.15".to_owned()));
        assert_eq!(product(""), ("server", "of unknown version".to_owned()));
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let info = "used_cpu_sys_children:9\r\nused_cpu_sys:1.5\r\n";
        assert_eq!(field(info, "used_cpu_sys"), Some("1.5"));
        assert_eq!(field(info, "used_cpu"), None);
    }
}
