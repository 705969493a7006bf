//! The commands as COMMAND DOCS declares them, written out as calls: what is tested of every
//! argument is tested of the arguments of a new command, too.

use crate::harness::{Server, text};
use crate::metadata::{COMMANDS, field, items, texts};
use redis::Value;

/// An argument, with what it is made of.
#[derive(Clone, Debug)]
pub struct Argument {
    pub name: String,
    pub kind: String,
    pub token: Option<String>,
    pub is_optional: bool,
    is_multiple: bool,
    parts: Vec<Self>,
}

impl Argument {
    fn read(docs: &Value) -> Self {
        let of = |what: &str| field(docs, what).map(text);
        let flags = field(docs, "flags").map(texts).unwrap_or_default();
        let has = |flag: &str| flags.iter().any(|own| own == flag);
        let parts = field(docs, "arguments").map(|parts| items(parts).iter().map(Self::read));
        Self {
            name: of("name").expect("a name"),
            kind: of("type").expect("a type"),
            token: of("token"),
            is_optional: has("optional"),
            is_multiple: has("multiple"),
            parts: parts.map_or_else(Vec::new, Iterator::collect),
        }
    }

    /// Is it a moment or a span of time?
    pub fn is_time(&self) -> bool {
        self.name.ends_with("-ms") || ["begin", "end", "hold"].contains(&&*self.name)
    }

    /// What an error says that its token needs.
    pub fn needs(&self) -> String {
        let parts = |between| {
            let names = self.parts.iter().map(|part| part.name.as_str());
            names.collect::<Vec<_>>().join(between)
        };
        match &*self.kind {
            "integer" => if self.is_time() { "ms" } else { "n" }.to_owned(),
            "oneof" => parts("|"),
            "block" => parts(" "),
            _ => self.name.clone(),
        }
    }

    fn behind_token(&self, value: &str) -> String {
        format!("{} {value}", self.token.as_deref().unwrap_or_default()).trim().to_owned()
    }

    /// The words of a usual call.
    pub fn sample(&self) -> String {
        let parts = || self.parts.iter().map(Self::sample);
        self.behind_token(&match (&*self.kind, &*self.name) {
            ("pure-token", _) => String::new(),
            ("oneof", _) => parts().next().expect("a part"),
            ("block", _) => parts().collect::<Vec<_>>().join(" "),
            ("integer", _) => "5".to_owned(),
            (_, "id") => "1-1".to_owned(),
            (_, "cursor") => "0".to_owned(),
            (_, name) => name.to_owned(),
        })
    }

    /// The values in it, each with the words of a call that has `@` in its place.
    fn values(&self) -> Vec<(String, &Self)> {
        let mut found = Vec::new();
        for (place, part) in self.parts.iter().enumerate() {
            for (hole, value) in part.values() {
                let mut words: Vec<_> = self.parts.iter().map(Self::sample).collect();
                words[place].clone_from(&hole);
                let words = if self.kind == "block" { words.join(" ") } else { hole };
                found.push((self.behind_token(&words), value));
            }
        }
        if self.parts.is_empty() && self.kind != "pure-token" {
            found.push((self.behind_token("@"), self));
        }
        found
    }
}

/// A command.
pub struct Declared {
    pub name: String,
    pub arguments: Vec<Argument>,
    /// Does it take a fixed number of words, or any number?
    pub is_fixed: bool,
    words_min: usize,
}

impl Declared {
    pub fn all(server: &Server) -> Vec<Self> {
        let declared = COMMANDS.iter().map(|(name, arity, ..)| {
            let reply = server.call(&["COMMAND", "DOCS", name]);
            let docs = field(&reply, name).expect("docs");
            let arguments = items(field(docs, "arguments").expect("arguments"));
            let arguments: Vec<_> = arguments.iter().map(Argument::read).collect();
            Self {
                name: name.to_uppercase(),
                is_fixed: *arity > 0 || arguments.iter().any(|it| it.is_multiple),
                arguments,
                words_min: usize::try_from(arity.abs()).expect("an arity"),
            }
        });
        declared.collect()
    }

    /// A usual call, without options.
    pub fn call(&self) -> String {
        self.call_with(|_| None, "")
    }

    /// A call with other words in some places. One that would change nothing has an option, too, of
    /// another name than this.
    fn call_with(&self, other: impl Fn(usize) -> Option<String>, but: &str) -> String {
        let words = self.arguments.iter().enumerate().filter_map(|(place, argument)| {
            other(place).or_else(|| (!argument.is_optional).then(|| argument.sample()))
        });
        let call = words.fold(self.name.clone(), |line, words| format!("{line} {words}"));
        if call.split(' ').count() >= self.words_min {
            return call;
        }
        let option = self.options().find(|option| option.name != but).expect("an option");
        format!("{call} {}", option.sample())
    }

    /// Calls with `@` in the place of one value each.
    pub fn values(&self) -> Vec<(String, &Argument)> {
        let of = |place: usize| {
            let values = self.arguments[place].values().into_iter();
            values.map(move |(hole, value)| {
                (self.call_with(|other| (other == place).then(|| hole.clone()), &value.name), value)
            })
        };
        (0..self.arguments.len()).flat_map(of).collect()
    }

    pub fn options(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| argument.is_optional)
    }

    /// Calls that end with a token whose value is lacking.
    pub fn lacking(&self) -> Vec<(String, &Argument)> {
        let has_value = |it: &&Argument| it.token.is_some() && it.kind != "pure-token";
        let options = self.options().filter(has_value).map(|option| {
            let token = option.token.as_deref().expect("a token");
            (format!("{} {token}", self.call_with(|_| None, &option.name)), option)
        });
        let choices = self.arguments.iter().enumerate().flat_map(|(place, argument)| {
            let parts = argument.parts.iter().filter(|_| argument.kind == "oneof");
            parts.filter(has_value).map(move |part| {
                let token = part.token.clone().expect("a token");
                (self.call_with(|other| (other == place).then(|| token.clone()), ""), part)
            })
        });
        options.chain(choices).collect()
    }
}
