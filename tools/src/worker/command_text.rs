//! Commands of this program as they are printed: whole, and quoted for a shell, so that they can be
//! pasted.

use std::path::Path;

use clap::Parser;
use seckill_tools::address;
use seckill_tools::command_line::quoted;

use crate::options::{Options, Site};

/// This program.
pub const WORKER: &str = "seckill-worker";

/// A command of one of the programs.
pub struct CommandLine {
    /// The program, then options and the name of the command.
    words: Vec<String>,
    order: Option<String>,
}

impl CommandLine {
    pub fn of(program: &str, words: &[&str], options: Vec<String>, order: Option<&str>) -> Self {
        let mut all = vec![program.to_owned()];
        all.extend(words.iter().map(|word| (*word).to_owned()));
        all.extend(options);
        Self { words: all, order: order.map(str::to_owned) }
    }

    /// As it is typed, with further options.
    pub fn text(&self, site: &[String]) -> String {
        let order = self.order.as_deref().map(|order| ["--", order]);
        let words = self.words.iter().chain(site).map(String::as_str);
        words.chain(order.into_iter().flatten()).map(quoted).collect::<Vec<_>>().join(" ")
    }

    /// As this program reads it.
    pub fn parsed(&self) -> Result<Options, clap::Error> {
        let order = self.order.as_deref().map(|order| ["--", order]);
        let words = self.words.iter().map(String::as_str);
        Options::try_parse_from(words.chain(order.into_iter().flatten()))
    }
}

/// An option with its value, in one word: a value may begin with a dash.
pub fn option(name: &str, value: &str) -> String {
    format!("--{name}={value}")
}

/// The options that say where the command works, as far as they are not what is assumed without
/// them. Passwords are left out: give them by a file or a variable.
pub fn site_words(site: &Site, statements: Option<&Path>) -> Vec<String> {
    let assumed = Options::parse_from([WORKER]).site;
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
    let assumed = Options::parse_from([WORKER]).site.server.redis;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_and_its_value_are_one_word() {
        let command = CommandLine::of("p", &[], vec![option("voucher", "-x y")], Some("-1"));
        assert_eq!(command.text(&["-q".to_owned()]), "p '--voucher=-x y' -q -- -1");
    }
}
