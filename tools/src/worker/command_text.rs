//! Commands of this program as they are printed: whole, and quoted for a shell, so that they can be
//! pasted.

use std::path::Path;

use clap::Parser;
use seckill_tools::address;
use seckill_tools::command_line::quoted;

use crate::options::{Options, Site};

/// An option with its value, in one word: a value may begin with a dash.
pub fn option(name: &str, value: &str) -> String {
    quoted(&format!("--{name}={value}"))
}

/// The options that say where the command works, as far as they are not what is assumed without
/// them. Passwords are left out: give them by a file or a variable.
pub fn site_words(site: &Site, statements: Option<&Path>) -> Vec<String> {
    let assumed = Options::parse_from(["seckill-worker"]).site;
    let (database, usual) = (address::typed(&site.database), address::typed(&assumed.database));
    let mut words = Vec::new();
    words.extend((database != usual).then(|| option("database", &database)));
    words.extend(server_words(site));
    let mut say = |name: &str, value: &str, usual: &str| {
        if value != usual {
            words.push(option(name, value));
        }
    };
    say("table-prefix", &site.table_prefix, &assumed.table_prefix);
    say("group", &site.group, &assumed.group);
    say("stream", &site.stream, &assumed.stream);
    words.extend(site.no_confirmed.then(|| "--no-confirmed".to_owned()));
    for (name, path) in [
        ("statements", statements),
        ("database-password-file", site.database_password_file.as_deref()),
    ] {
        words.extend(path.map(|path| option(name, &path.display().to_string())));
    }
    words
}

/// Those that say where the server is, for any of the programs.
pub fn server_words(site: &Site) -> Vec<String> {
    let assumed = Options::parse_from(["seckill-worker"]).site.server.redis;
    let (redis, assumed) = (address::typed(&site.server.redis), address::typed(&assumed));
    let mut words = Vec::new();
    words.extend((redis != assumed).then(|| option("redis", &redis)));
    for (name, path) in [
        ("redis-password-file", site.server.redis_password_file.as_deref()),
        ("cacert", site.server.tls.cacert.as_deref()),
        ("cert", site.server.tls.cert.as_deref()),
        ("key", site.server.tls.key.as_deref()),
    ] {
        words.extend(path.map(|path| option(name, &path.display().to_string())));
    }
    words.extend(site.server.tls.insecure.then(|| "--insecure".to_owned()));
    words
}

/// A command of this program.
pub fn command(words: &[String], site: &[String]) -> String {
    [&["seckill-worker".to_owned()], words, site].concat().join(" ")
}

/// A command of `seckill-shards`.
pub fn shards_command(words: &[String], server: &[String]) -> String {
    [&["seckill-shards".to_owned()], server, words].concat().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_and_its_value_are_one_word() {
        assert_eq!(option("voucher", "-x y"), "'--voucher=-x y'");
    }
}
