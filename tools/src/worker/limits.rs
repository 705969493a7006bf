//! How many orders per user a voucher allows: asked from the server, and cached for a while.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use redis::RedisResult;
use seckill_tools::sale_info::SaleInfo;

use crate::batch::Sole;
use crate::source::Source;

const KEPT_FOR: Duration = Duration::from_secs(10);
const KEPT_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct Limits(HashMap<String, (Sole, Instant)>);

impl Limits {
    /// Asks for the limits of these vouchers that are not cached.
    pub async fn ask(&mut self, source: &mut Source, vouchers: BTreeSet<&str>) -> RedisResult<()> {
        let now = Instant::now();
        self.0.retain(|_, (_, until)| *until > now);
        let unknown: Vec<_> =
            vouchers.into_iter().filter(|voucher| !self.0.contains_key(*voucher)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        if self.0.len() + unknown.len() > KEPT_MAX {
            self.0.clear();
        }
        let mut infos = redis::pipe();
        for voucher in &unknown {
            infos.cmd("SECKILL.INFO").arg(voucher);
        }
        infos.ignore_errors();
        let replies: Vec<RedisResult<SaleInfo>> = infos.query_async(source.connection()).await?;
        for (voucher, reply) in unknown.into_iter().zip(replies) {
            self.0.insert(voucher.to_owned(), (sole(reply)?, now + KEPT_FOR));
        }
        Ok(())
    }

    /// `No` if the limit is unknown: the unique index then does not check the order.
    pub fn of(&self, voucher: &str) -> Sole {
        self.0.get(voucher).map_or(Sole::No, |(sole, _)| *sole)
    }
}

/// The limit of a dropped voucher is unknown. In a cluster, a voucher on another node was not sold
/// by this stream's server. Without the module, the scripts allow one order per user.
fn sole(info: RedisResult<SaleInfo>) -> RedisResult<Sole> {
    let error = match info {
        Ok(SaleInfo { limit: Some(1), .. }) => return Ok(Sole::Yes),
        Ok(_) => return Ok(Sole::No),
        Err(error) => error,
    };
    match error.code() {
        Some("TRYAGAIN" | "LOADING" | "CLUSTERDOWN" | "MASTERDOWN" | "BUSY") | None => Err(error),
        Some("ERR") if error.detail().is_some_and(|text| text.starts_with("unknown command")) => {
            Ok(Sole::Yes)
        }
        Some(_) => Ok(Sole::No),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_one_is_watched_over() {
        let of = |limit| sole(Ok(SaleInfo { limit, ..SaleInfo::default() })).unwrap();
        assert_eq!([Some(1), Some(2), None].map(of), [Sole::Yes, Sole::No, Sole::No]);
    }

    #[test]
    fn errors_that_pass_are_no_answer() {
        let of = |line: &str| {
            let error = redis::parse_redis_value(line.as_bytes()).unwrap().extract_error();
            sole(Err(error.unwrap_err()))
        };
        assert_eq!(of("-NOVOUCHER no stock key for this voucher\r\n").unwrap(), Sole::No);
        assert_eq!(of("-MOVED 1 127.0.0.1:6379\r\n").unwrap(), Sole::No);
        assert_eq!(of("-ERR unknown command 'SECKILL.INFO'\r\n").unwrap(), Sole::Yes);
        assert!(of("-TRYAGAIN not all keys\r\n").is_err());
        assert!(of("-LOADING Redis is loading\r\n").is_err());
    }
}
