//! What the server's clients are about.

use super::call::Call;
use super::ctx::Ctx;
use super::settings::{NoConfig, setting};
use super::string::OwnedStr;

/// Why a module can't be taken from a client, which is named as the server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InUse<'c> {
    /// The client's latest command was this.
    Latest(&'c str, String),
    /// A transaction has been begun, and nobody knows of which commands.
    Transaction(String),
    /// The client has sent more behind its blocking call or its MODULE UNLOAD, or may have.
    Ahead(String),
    /// So many threads look commands up ahead of the server.
    Threads(String),
    /// The server does not tell: this command was renamed.
    Unknown(&'static str),
}

/// The first client that still points at a command of the module, or could; or the server itself.
///
/// Servers keep a pointer to each client's latest command, to those that wait for EXEC, and to
/// those that they have parsed ahead, and follow it after the command is gone: Redis 8.10 as soon
/// as the client sends something, 7.0 at CLIENT LIST. Threads that read from clients (`io-threads`)
/// look commands up ahead on newer servers, which nothing shows.
pub(crate) fn client_using<'c>(ctx: Ctx<'_>, commands: &[&'c str]) -> Option<InUse<'c>> {
    let threads = match setting(ctx, b"io-threads") {
        Err(NoConfig) => return Some(InUse::Unknown("CONFIG")),
        Ok(threads) => threads.filter(|threads| threads != "1"),
    };
    if let Some(threads) = threads {
        return Some(InUse::Threads(threads));
    }
    let list = OwnedStr::new(b"LIST");
    let Ok(clients) = Call::read_all(ctx, c"CLIENT", &[list.as_str()]) else {
        return Some(InUse::Unknown("CLIENT"));
    };
    // Redis 8.4 and later parse ahead, and have this setting; Valkey 8.1 and later are known by
    // what their clients are capable of.
    let is_ahead = setting(ctx, b"lookahead").map_or(true, |lookahead| lookahead.is_some());
    let clients = String::from_utf8_lossy(clients.text());
    clients.lines().find_map(|client| in_use(client, commands, is_ahead))
}

/// The sum of the lengths of MODULE UNLOAD and the module's name.
const UNLOAD_LEN: i64 = 19;

fn in_use<'c>(client: &str, commands: &[&'c str], is_ahead: bool) -> Option<InUse<'c>> {
    let field = |name: &str| {
        let mut fields = client.split(' ').filter_map(|field| field.split_once('='));
        fields.find(|(other, _)| *other == name).map(|(_, value)| value)
    };
    let number = |name: &str| field(name).and_then(|count| count.parse::<i64>().ok()).unwrap_or(0);
    let who = || {
        let of = |name: &str| format!("{name}={}", field(name).unwrap_or_default());
        ["id", "addr", "name", "user"].map(of).join(" ")
    };
    let latest = field("cmd").and_then(|cmd| commands.iter().copied().find(|name| *name == cmd));
    if let Some(command) = latest {
        return Some(InUse::Latest(command, who()));
    }
    if number("multi") > 0 {
        return Some(InUse::Transaction(who()));
    }
    // What is parsed ahead has left the buffer, and servers that do so don't show it, but for Redis
    // in the length of all arguments.
    let is_ahead = is_ahead || field("capa").is_some();
    let is_blocked = field("flags").is_some_and(|flags| flags.contains('b'));
    let unloads = field("cmd") == Some("module|unload");
    let may_be_ours = is_blocked && (is_ahead || number("qbuf") > 0)
        || unloads && number("argv-mem") > UNLOAD_LEN;
    may_be_ours.then(|| InUse::Ahead(who()))
}

#[cfg(test)]
mod tests {
    use super::{InUse, in_use};

    #[test]
    fn a_client_uses_what_it_sent_last_or_has_queued_or_has_sent_ahead() {
        const IDLE: &str = "flags=N multi=-1 qbuf=0 argv-mem=4 cmd=ping";
        let waits = IDLE.replace("flags=N", "flags=bU");
        let rows = [
            (IDLE.replace("ping", "x.one"), false, "Latest"),
            (IDLE.replace("ping", "x.ones"), true, ""),
            (IDLE.replace("multi=-1", "multi=0"), true, ""),
            (IDLE.replace("multi=-1", "multi=2"), true, "Transaction"),
            // Its own bytes are still in the buffer.
            ("flags=N multi=-1 qbuf=26 argv-mem=19 cmd=module|unload".to_owned(), true, ""),
            ("flags=N multi=-1 qbuf=26 argv-mem=20 cmd=module|unload".to_owned(), true, "Ahead"),
            (waits.clone(), false, ""),
            (waits.replace("qbuf=0", "qbuf=9"), false, "Ahead"),
            (waits.clone(), true, "Ahead"),
            (format!("{waits} capa="), false, "Ahead"),
            (String::new(), true, ""),
        ];
        for (client, is_ahead, want) in rows {
            let client = format!("id=3 addr=a name=b user=u {client}");
            let found = in_use(&client, &["x.one", "x.two"], is_ahead);
            let found = found.map_or_else(String::new, |found| format!("{found:?}"));
            assert_eq!(found.is_empty(), want.is_empty(), "{client}");
            assert!(found.starts_with(want), "{client}: {found}");
            assert!(want.is_empty() || found.contains("id=3 addr=a name=b user=u"), "{found}");
        }
        let ours = in_use("id=3 cmd=x.two", &["x.one", "x.two"], false);
        assert!(matches!(ours, Some(InUse::Latest("x.two", _))));
    }
}
