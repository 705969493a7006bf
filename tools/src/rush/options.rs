//! The command line.

use std::sync::OnceLock;

use clap::Parser;

/// Sends a flash sale's tries to a server and proves the outcome.
///
/// Opens a sale of STOCK units of VOUCHER, sends TRIES tries from CONNECTIONS connections at
/// once, waits for every answer, and then compares the server's keys with the answers.
/// Ctrl-C stops sending; what was sold until then is still proved.
#[derive(Parser, Debug)]
#[command(name = "seckill-rush", version)]
pub struct Options {
    /// The server: `redis://user:password@host:port/db` or `redis+unix:///path`
    #[arg(long, default_value = "redis://127.0.0.1:6379")]
    pub url: String,

    /// What is on sale
    #[arg(long, default_value = "rush")]
    pub voucher: String,

    /// Units on sale
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(i64).range(1..))]
    pub stock: i64,

    /// Tries to send
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub tries: u32,

    /// Users there are at most; once all have tried, every try repeats one [default: no limit]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub users: Option<u32>,

    /// Share of the tries, 0 to 1, made by a user who tried before
    #[arg(long, default_value_t = 0.1, value_parser = share)]
    pub duplicates: f64,

    /// Connections that send at once
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub connections: u32,

    /// Tries a connection sends before it waits for the answers
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub pipeline: u32,

    /// Repeats a run: the same users try in the same order [default: another one each time]
    #[arg(long)]
    pub seed: Option<u64>,

    /// Delete the voucher's stock and buyers first; without it a voucher that exists is refused
    #[arg(long, conflicts_with = "keep")]
    pub reset: bool,

    /// Go on selling a voucher that exists, with the stock it has
    #[arg(long)]
    pub keep: bool,

    /// Decide by the usual Lua script (EVALSHA, its usual key names) instead of SECKILL.TRY
    #[arg(long)]
    pub script: bool,

    /// Print the result as JSON; no progress
    #[arg(long)]
    pub json: bool,
}

/// Who takes the decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    Command,
    Script,
}

impl Options {
    pub fn method(&self) -> Method {
        if self.script { Method::Script } else { Method::Command }
    }

    pub fn users(&self) -> u32 {
        self.users.unwrap_or(self.tries)
    }

    /// The seed asked for, else one drawn once a run.
    pub fn seed(&self) -> u64 {
        static DRAWN: OnceLock<u64> = OnceLock::new();
        self.seed.unwrap_or_else(|| *DRAWN.get_or_init(|| fastrand::u64(1..1_000_000_000)))
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("a number from 0 to 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_declarations_are_sound() {
        use clap::CommandFactory;
        Options::command().debug_assert();
    }

    #[test]
    fn shares_are_from_zero_to_one() {
        assert_eq!(parse("rush --duplicates 0.25").unwrap().duplicates, 0.25);
        for wrong in ["-0.1", "1.01", "NaN", "ten"] {
            assert!(parse(&format!("rush --duplicates={wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nothing_can_be_kept_and_reset() {
        assert!(parse("rush --keep --reset").is_err());
        assert!(parse("rush --tries 0").is_err());
    }

    #[test]
    fn a_drawn_seed_stays_the_same_in_a_run() {
        let options = parse("rush").unwrap();
        assert_eq!(options.seed(), options.seed());
        assert_eq!(parse("rush --seed 7").unwrap().seed(), 7);
    }

    #[test]
    fn users_are_as_many_as_tries_unless_limited() {
        assert_eq!(parse("rush --tries 9").unwrap().users(), 9);
        assert_eq!(parse("rush --tries 9 --users 4").unwrap().users(), 4);
    }
}
