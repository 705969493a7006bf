//! The command line.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use seckill_tools::command_line::number;
use seckill_tools::duration::duration_within;
use seckill_tools::http::address;
use seckill_tools::server::{ServerOptions, VARIABLES};

const EXIT_CODES: &str = "\
Exit code:
  0  ended normally
  1  could not go on, with a line that says why
  2  wrong arguments

Examples:
  seckill-top --redis redis://10.0.0.5:6379/ --vouchers phone,tea
  seckill-top --metrics 9465
";

/// Watches a flash sale: stock, outcomes, holds, locks and the consumers of the orders.
///
/// Draws a dashboard in the terminal until q is pressed, or serves a page for browsers. Only reads:
/// INFO, SCAN, SECKILL.INFO, TIME, ZRANGE, XLEN, XINFO, XRANGE and XREVRANGE.
#[derive(Parser, Clone, Debug)]
#[command(name = "seckill-top", version, after_help = format!("{EXIT_CODES}{VARIABLES}"))]
pub struct Options {
    #[command(flatten)]
    pub server: ServerOptions,

    /// The vouchers to watch, separated by commas [default: those whose stock keys SCAN finds]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub vouchers: Vec<String>,

    /// Watch at most this many of the vouchers that are found
    #[arg(long, value_name = "N", default_value_t = 100,
        value_parser = number(1..=10_000u32))]
    pub vouchers_max: u32,

    /// The prefix of the names of stock keys [default: as configured on the server]
    #[arg(long, value_name = "PREFIX")]
    pub stock_prefix: Option<String>,

    /// The streams to watch, separated by commas [default: as configured on the server]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub streams: Vec<String>,

    /// Time between two readings, from 50ms to 1h
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Duration,

    /// Print one frame as text after --readings readings, and end
    #[arg(long)]
    pub once: bool,

    /// Readings before that frame; rates are computed from the last two
    #[arg(long, value_name = "N", default_value_t = 2, requires = "once",
        value_parser = number(1..=100_000u32))]
    pub readings: u32,

    /// Columns and rows of that frame
    #[arg(long, value_name = "WxH", default_value = "100x30", requires = "once",
        value_parser = size)]
    pub size: Size,

    /// Serve a page for browsers, /metrics for Prometheus and /healthz at this address, without a
    /// dashboard in the terminal; a port alone is of 127.0.0.1, and none is 9465
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "once", value_parser = address,
        num_args = 0..=1, default_missing_value = "9465")]
    pub metrics: Option<SocketAddr>,

    /// Ask the seckill-top or seckill-worker that serves /healthz at this address for its health,
    /// and exit with 0 if it is healthy, else 1: for health checks of containers
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["once", "metrics"],
        value_parser = address)]
    pub health: Option<SocketAddr>,
}

/// Columns and rows of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

fn interval(text: &str) -> Result<Duration, String> {
    let bounds = Duration::from_millis(50)..=Duration::from_secs(3_600);
    duration_within(text, bounds, "from 50ms to 1h")
}

fn size(text: &str) -> Result<Size, String> {
    let numbers = text.split_once('x').and_then(|(columns, rows)| {
        Some(Size { columns: columns.parse().ok()?, rows: rows.parse().ok()? })
    });
    match numbers {
        Some(size) if (40..=400).contains(&size.columns) && (10..=400).contains(&size.rows) => {
            Ok(size)
        }
        _ => Err("must be 40 to 400 columns and 10 to 400 rows, such as 100x30".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn intervals_and_sizes_have_bounds() {
        assert_eq!(parse("top --interval 500ms").unwrap().interval, Duration::from_millis(500));
        for wrong in ["0s", "1", "49ms", "2h", "x"] {
            assert!(parse(&format!("top --interval={wrong}")).is_err(), "{wrong}");
        }
        let size = parse("top --once --size 80x24").unwrap().size;
        assert_eq!(size, Size { columns: 80, rows: 24 });
        for wrong in ["80", "39x24", "80x9", "80x401", "ax24"] {
            assert!(parse(&format!("top --once --size {wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_frame_of_its_own_needs_once() {
        assert!(parse("top --readings 3").is_err());
        assert!(parse("top --once --readings 3").is_ok());
        assert!(parse("top --once --metrics 127.0.0.1:9465").is_err());
        assert!(parse("top --metrics [::1]:9465").is_ok());
        let metrics = |line| parse(line).unwrap().metrics.unwrap().to_string();
        for line in ["top --metrics", "top --metrics 9465", "top --metrics --vouchers 7"] {
            assert_eq!(metrics(line), "127.0.0.1:9465", "{line}");
        }
        assert_eq!(metrics("top --metrics 0.0.0.0:1"), "0.0.0.0:1");
        for wrong in ["localhost:9465", "65536", "127.0.0.1", "x"] {
            let refused = parse(&format!("top --metrics {wrong}")).unwrap_err().to_string();
            assert!(refused.contains("or a port of 127.0.0.1 alone"), "{refused}");
        }
        assert!(parse("top --health 127.0.0.1:9465").is_ok());
        assert!(parse("top --health 127.0.0.1:9465 --once").is_err());
    }
}
