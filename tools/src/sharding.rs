//! How a hot voucher is spread over shards: the vouchers that it is made of, the shard that a user
//! belongs to, and the units that each shard begins with. Pure.

use anyhow::{Result, ensure};
use domain::key_names::{JOURNAL_PREFIX, Naming};
use domain::slot::crc16;

/// More shards than this make no sale faster.
pub const SHARDS_MAX: u32 = 4_096;

/// The voucher of a shard: `7#3`. If keys have hash tags, its keys have the tag `{7#3}`, so that
/// each shard has a slot of its own.
pub fn shard_voucher(sale: &str, shard: u32) -> String {
    format!("{sale}#{shard}")
}

/// The sale that a voucher may be a shard of: `7` of `7#3`.
pub fn sale_of_shard(voucher: &str) -> Option<&str> {
    let (sale, shard) = voucher.rsplit_once('#')?;
    (shard.parse::<u32>().is_ok_and(|it| it.to_string() == shard) && !sale.is_empty())
        .then_some(sale)
}

/// The key beside a shard's own keys that keeps the journal of moved units: in their slot.
pub fn journal_key(sale: &str, shard: u32) -> String {
    let voucher = shard_voucher(sale, shard);
    let key = Naming::Wrapped(voucher.as_bytes()).key(JOURNAL_PREFIX);
    String::from_utf8_lossy(&key).into_owned()
}

/// What the journals of one opening call their sale: its number of shards, its units, and an id by
/// which a mover that wakes up late knows that its sale is over.
pub fn opening(shards: u32, units: i64) -> String {
    format!("{shards}:{units}:{:016x}", fastrand::u64(..))
}

/// What a journal says until all shards are made: only then may an opening be continued.
pub const OPENING: &str = "opening";

/// What it says from then on.
pub fn opened(shard: u32, shards: u32) -> String {
    format!("open {shard} of {shards}")
}

/// What all journals say once a lost shard was opened again: units that no journal counts any more
/// were sold before.
pub fn opened_again(shard: u32, shards: u32) -> String {
    opened(shard, shards) + AGAIN
}

const AGAIN: &str = ", after a loss";

/// Whether a journal says so.
pub fn says_again(state: &str) -> bool {
    state.ends_with(AGAIN)
}

/// The number of shards and the units in such a name.
pub fn parse_opening(name: &str) -> Option<(u32, i64)> {
    let mut parts = name.splitn(3, ':');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Refuses a sale whose name would spoil the hash tags.
pub fn check_sale(sale: &str) -> Result<()> {
    let is_plain = !sale.is_empty() && !sale.contains(['{', '}', '#']);
    ensure!(is_plain, "voucher {sale} can't be sharded: its name must not contain braces or #");
    Ok(())
}

/// The shard of a user, always the same: the CRC16 of all bytes of the user's id, as Redis Cluster
/// computes it for keys, modulo the number of shards.
pub fn shard_of(user: &[u8], shards: u32) -> u32 {
    u32::from(crc16(user)) % shards.max(1)
}

/// The units of each shard at the start: the same for all, and one more for the first ones.
pub fn split(units: i64, shards: u32) -> Vec<i64> {
    let count = i64::from(shards.max(1));
    let (each, rest) = (units / count, units % count);
    (0..count).map(|shard| each + i64::from(shard < rest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_spread_evenly_and_stay() {
        for shards in [16_u32, 100, 1_000] {
            let mut users = vec![0_u32; shards as usize];
            for user in 0..200_000_u32 {
                let id = format!("u{user}");
                let shard = shard_of(id.as_bytes(), shards);
                assert_eq!(shard, shard_of(id.as_bytes(), shards));
                users[shard as usize] += 1;
            }
            let mean = 200_000 / shards;
            let (least, most) = (users.iter().min().unwrap(), users.iter().max().unwrap());
            assert!(*least > mean / 2 && *most < mean * 2, "{shards}: {least} to {most}");
        }
        assert_eq!(shard_of(b"alice", 1), 0);
        // CLUSTER KEYSLOT: the same number modulo 16384.
        assert_eq!((shard_of(b"foo", 16_384), shard_of(b"order", 16_384)), (12_182, 16_025));
    }

    #[test]
    fn no_unit_is_lost_in_the_split() {
        assert_eq!(split(10, 4), [3, 3, 2, 2]);
        assert_eq!(split(3, 4), [1, 1, 1, 0]);
        for (units, shards) in [(1_000, 16), (999, 7), (1, 1_000)] {
            assert_eq!(split(units, shards).iter().sum::<i64>(), units);
        }
    }

    #[test]
    fn a_shard_is_a_voucher_of_its_own() {
        assert_eq!(shard_voucher("7", 3), "7#3");
        assert_eq!(journal_key("7", 3), "seckill:shard:{7#3}");
        let sales = ["7#3", "7", "7#03", "7#x", "#3"].map(sale_of_shard);
        assert_eq!(sales, [Some("7"), None, None, None, None]);
        assert_eq!(parse_opening(&opening(16, 1_000)), Some((16, 1_000)));
        assert_eq!((parse_opening("16"), parse_opening("x:5:1")), (None, None));
        assert!(check_sale("7").is_ok());
        assert!(says_again(&opened_again(1, 2)) && !says_again(&opened(1, 2)));
        for wrong in ["", "{7}", "a}b", "7#1"] {
            assert!(check_sale(wrong).is_err(), "{wrong}");
        }
    }
}
