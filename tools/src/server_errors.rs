//! What errors of the server mean.

use anyhow::Error;
use redis::{ErrorKind, RedisError};

use crate::sanitize::sanitize;

const PASSWORD_HINT: &str = "name and password are part of --redis redis://name:password@host/; \
     the password may also be in --redis-password-file or SECKILL_REDIS_PASSWORD";

/// What is to be done about an error of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A stream or its group is gone: make them.
    NoGroup,
    /// The server is away, or not ready, or another one now: connect again.
    Away,
    /// Connecting again won't help: somebody must fix something.
    Wrong,
}

pub fn trouble(error: &RedisError) -> Trouble {
    if matches!(error.kind(), ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig) {
        return Trouble::Wrong;
    }
    if error.code().is_none() && is_untrusted(&error.to_string()) {
        return Trouble::Wrong;
    }
    match error.code() {
        Some("NOGROUP" | "UNBLOCKED") => Trouble::NoGroup,
        Some(
            "LOADING" | "READONLY" | "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" | "MOVED" | "ASK"
            | "BUSY" | "MISCONF" | "NOREPLICAS" | "OOM",
        )
        | None => Trouble::Away,
        Some(_) => Trouble::Wrong,
    }
}

/// Whether there was no answer at all. Otherwise the server is there, and is not ready for this.
pub fn is_down(error: &RedisError) -> bool {
    error.code().is_none() && error.kind() == ErrorKind::Io
}

/// Has the server no memory for what may need more?
pub fn is_full(error: &RedisError) -> bool {
    error.code() == Some("OOM")
}

/// Why a transaction was refused: the error of the command that was. A group that is missing says
/// more than its stream, which is missing, too.
pub fn its_reason(error: &RedisError) -> RedisError {
    let errors = error.clone().into_server_errors();
    let all: Vec<RedisError> =
        errors.iter().flat_map(|all| all.iter()).map(|(_, one)| one.clone().into()).collect();
    let group = all.iter().find(|one| one.code() == Some("NOGROUP"));
    group.or(all.first()).unwrap_or(error).clone()
}

/// The error as the server wrote it, in one line, and where a password or a right is missing, what
/// to do.
pub fn message(error: &RedisError) -> String {
    sanitize(&text(error))
}

/// Lines of an error, as one.
fn on_one_line(text: &str) -> String {
    text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The same, for who sanitizes it himself.
pub fn text(error: &RedisError) -> String {
    let text = match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        _ if error.kind() == ErrorKind::AuthenticationFailed => "wrong name or password".to_owned(),
        // The library ends its own sentences with the name of their kind.
        _ => error.to_string().trim_end_matches(&format!(" - {:?}", error.kind())).to_owned(),
    };
    let hint = match error.code() {
        Some("NOAUTH" | "WRONGPASS") => PASSWORD_HINT,
        _ if error.kind() == ErrorKind::AuthenticationFailed => PASSWORD_HINT,
        Some("NOPERM") => "docs/SECURITY.md lists the rights of each program",
        _ => return text,
    };
    format!("{} ({hint})", text.trim_end_matches('.'))
}

/// An error and its causes, in one line. Some errors repeat their cause in their own text; what the
/// server has answered is an error's text as a whole, whose cause has it in other words.
pub fn with_causes(error: &Error) -> String {
    let mut all = String::new();
    for cause in error.chain() {
        let of_server = cause.downcast_ref::<RedisError>();
        let cause = on_one_line(&of_server.map_or_else(|| cause.to_string(), text));
        if all.is_empty() {
            all = cause;
        } else if !all.contains(&cause) {
            all = format!("{all}: {cause}");
        }
        if of_server.is_some_and(|error| error.code().is_some()) {
            break;
        }
    }
    sanitize(&all)
}

/// Why there is no connection to a server at a place, which is a URL.
pub fn unreached(place: &str, error: RedisError) -> Error {
    let is_there = error.code().is_some() || error.kind() == ErrorKind::AuthenticationFailed;
    let what = if is_there { "refused by the server at" } else { "no connection to" };
    let scheme = other_scheme(place, &error);
    Error::new(error).context(format!("{what} {place}{scheme}"))
}

/// What to try instead where one side of a connection speaks TLS and the other may not: a server
/// without TLS waits for more, one with TLS closes.
pub fn other_scheme(place: &str, error: &RedisError) -> &'static str {
    let is_closed = error.is_connection_dropped() && !error.is_connection_refusal();
    match place.split_once("://") {
        Some(("redis", _)) if is_closed => " (if it speaks TLS, by rediss://)",
        Some(("rediss", _)) if error.is_timeout() => " (if it speaks no TLS, by redis://)",
        _ => "",
    }
}

/// Whether an error says that one side's certificate is not trusted: then retrying doesn't help.
/// The libraries report it as a failed connection.
pub fn is_untrusted(text: &str) -> bool {
    ["certificate", "received fatal alert"].iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_not_ready_is_waited_for() {
        let error = |line: &str| redis::parse_redis_value(line.as_bytes()).unwrap().extract_error();
        for (line, want) in [
            ("-LOADING Redis is loading the dataset in memory\r\n", Trouble::Away),
            ("-READONLY You can't write against a read only replica.\r\n", Trouble::Away),
            ("-CLUSTERDOWN The cluster is down\r\n", Trouble::Away),
            ("-MOVED 3999 127.0.0.1:6381\r\n", Trouble::Away),
            ("-NOGROUP No such key\r\n", Trouble::NoGroup),
            ("-WRONGTYPE Operation against a key\r\n", Trouble::Wrong),
            ("-NOAUTH Authentication required.\r\n", Trouble::Wrong),
            ("-ERR unknown command\r\n", Trouble::Wrong),
        ] {
            assert_eq!(trouble(&error(line).unwrap_err()), want, "{line}");
        }
        let lost = RedisError::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert_eq!((trouble(&lost), is_down(&lost)), (Trouble::Away, true));
        assert!(!is_down(&error("-LOADING Redis is loading\r\n").unwrap_err()));
    }

    #[test]
    fn an_error_is_written_once() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = anyhow::Error::new(RedisError::from(refused)).context("no server");
        assert_eq!(format!("{error:#}"), "no server: connection refused: connection refused");
        assert_eq!(with_causes(&error), "no server: connection refused");
        let busy = redis::parse_redis_value(b"-BUSYKEY a voucher\r\n").unwrap().extract_error();
        let busy = anyhow::Error::new(busy.unwrap_err()).context("opening 7#1");
        assert_eq!(with_causes(&busy), "opening 7#1: BUSYKEY a voucher");
        let wrong = RedisError::from((ErrorKind::InvalidClientConfig, "it did not parse"));
        assert_eq!(text(&wrong), "it did not parse");
        let lines = anyhow::Error::msg("at line 1\n  |\n\n1 | x\n").context("a file");
        assert_eq!(with_causes(&lines), "a file: at line 1; |; 1 | x");
    }

    #[test]
    fn a_connection_without_the_tls_of_the_server_is_told_from_others() {
        let error = |kind: std::io::ErrorKind| RedisError::from(std::io::Error::from(kind));
        let reset = error(std::io::ErrorKind::ConnectionReset);
        let late = error(std::io::ErrorKind::TimedOut);
        for (place, error, words) in [
            ("redis://h:1/", &reset, "rediss://"),
            ("rediss://h:1/", &late, "redis://"),
            ("redis://h:1/", &late, ""),
            ("rediss://h:1/", &reset, ""),
            ("redis://h:1/", &error(std::io::ErrorKind::ConnectionRefused), ""),
            ("redis+unix:///s", &reset, ""),
        ] {
            let hint = other_scheme(place, error);
            assert_eq!(hint.is_empty(), words.is_empty(), "{place}: {hint}");
            assert!(hint.contains(words), "{place}: {hint}");
        }
    }
}
