//! What the server's clients are about.

use super::call::Call;
use super::ctx::Ctx;
use super::string::OwnedStr;

/// Why a module can't be taken from a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InUse<'c> {
    /// The client's latest command was this.
    Latest(&'c str),
    /// A transaction has been begun, and nobody knows of which commands.
    Transaction,
}

/// The first client that still points at a command of the module, or could.
///
/// Servers keep a pointer to each client's latest command, and to those that wait for EXEC, and
/// follow it after the command is gone: Redis 8.10 as soon as the client sends something, 7.0 at
/// CLIENT LIST.
pub(crate) fn client_using<'c>(ctx: Ctx<'_>, commands: &[&'c str]) -> Option<InUse<'c>> {
    let list = OwnedStr::new(b"LIST");
    let clients = Call::read_all(ctx, c"CLIENT", &[list.as_str()]).ok()?;
    let clients = String::from_utf8_lossy(clients.text());
    clients.lines().find_map(|client| in_use(client, commands))
}

fn in_use<'c>(client: &str, commands: &[&'c str]) -> Option<InUse<'c>> {
    let field = |name: &str| {
        let mut fields = client.split(' ').filter_map(|field| field.split_once('='));
        fields.find(|(other, _)| *other == name).map(|(_, value)| value)
    };
    let latest = field("cmd").and_then(|cmd| commands.iter().copied().find(|name| *name == cmd));
    let queued = field("multi").and_then(|count| count.parse::<i64>().ok());
    match (latest, queued) {
        (Some(command), _) => Some(InUse::Latest(command)),
        (None, Some(1..)) => Some(InUse::Transaction),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{InUse, in_use};

    #[test]
    fn a_client_uses_what_it_sent_last_or_has_queued() {
        let rows = [
            ("id=3 name=a flags=N multi=-1 cmd=x.one user=u", Some(InUse::Latest("x.one"))),
            ("id=3 name=a flags=N multi=-1 cmd=x.ones user=u", None),
            ("id=3 name=a flags=x multi=0 cmd=multi user=u", None),
            ("id=3 name=a flags=x multi=2 cmd=ping user=u", Some(InUse::Transaction)),
            ("id=3 name=a flags=N multi=-1 cmd=module|unload user=u", None),
            ("", None),
        ];
        for (client, want) in rows {
            assert_eq!(in_use(client, &["x.one", "x.two"]), want, "{client}");
        }
    }
}
