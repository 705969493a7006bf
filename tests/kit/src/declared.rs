//! The commands as COMMAND DOCS declares them, written out as calls: what is tested of every
//! argument is tested of the arguments of a new command, too.

use crate::harness::{Server, text};
use redis::Value;

pub fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) | Value::Set(items) => items,
        other => panic!("not a list: {other:?}"),
    }
}

/// A field of a map that RESP2 sends as a flat list.
pub fn field<'a>(map: &'a Value, name: &str) -> Option<&'a Value> {
    items(map).chunks(2).find(|pair| text(&pair[0]) == name).map(|pair| &pair[1])
}

pub fn texts(list: &Value) -> Vec<String> {
    items(list).iter().map(text).collect()
}

/// An argument, with what it is made of.
#[derive(Clone, Debug)]
pub struct Argument {
    pub name: String,
    pub kind: String,
    pub token: Option<String>,
    pub is_optional: bool,
    /// May it be given several times?
    pub is_multiple: bool,
    /// Its parts, or its alternatives.
    pub parts: Vec<Self>,
}

impl Argument {
    fn read(docs: &Value) -> Self {
        let of = |what: &str| field(docs, what).map(text);
        let flags = field(docs, "flags").map(texts).unwrap_or_default();
        let has = |flag: &str| flags.iter().any(|own| own == flag);
        Self {
            name: of("name").expect("a name"),
            kind: of("type").expect("a type"),
            token: of("token"),
            is_optional: has("optional"),
            is_multiple: has("multiple"),
            parts: Self::all(docs),
        }
    }

    /// Those of a command, or the parts of one.
    pub fn all(docs: &Value) -> Vec<Self> {
        field(docs, "arguments").map(items).unwrap_or_default().iter().map(Self::read).collect()
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

    /// The words by which an option is known.
    pub fn tokens(&self) -> Vec<&str> {
        let own = self.token.as_deref();
        own.map_or_else(|| self.parts.iter().flat_map(Self::tokens).collect(), |own| vec![own])
    }

    pub fn behind_token(&self, value: &str) -> String {
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
    arity: i64,
}

impl Declared {
    /// Every command of the module on this server.
    pub fn all(server: &Server) -> Vec<Self> {
        let names = texts(&server.call(&["COMMAND", "LIST", "FILTERBY", "MODULE", "seckill"]));
        assert!(names.len() >= 24, "only {} commands", names.len());
        names.into_iter().map(|name| Self::of(server, name)).collect()
    }

    /// The calls of all commands with an argument of this name, which is `@`.
    pub fn calls_with(server: &Server, argument: &str) -> Vec<String> {
        let all = Self::all(server);
        let values = all.iter().flat_map(Self::values);
        let calls = values.filter(|(_, value)| value.name == argument).map(|(call, _)| call);
        calls.collect()
    }

    fn of(server: &Server, name: String) -> Self {
        let docs = server.call(&["COMMAND", "DOCS", &name]);
        let arguments = Argument::all(field(&docs, &name).expect("docs"));
        let info = server.call(&["COMMAND", "INFO", &name]);
        let Value::Int(arity) = items(&items(&info)[0])[1] else { panic!("no arity: {info:?}") };
        Self { name, arguments, arity }
    }

    /// Does it take a certain number of words, or any number?
    pub fn has_options_only(&self) -> bool {
        self.arity < 0 && !self.arguments.iter().any(|argument| argument.is_multiple)
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
        let call = words.fold(self.name.to_uppercase(), |line, words| format!("{line} {words}"));
        if call.split(' ').count() as i64 >= self.arity.abs() {
            return call;
        }
        let option = self.options().find(|option| option.name != but).expect("an option");
        format!("{call} {}", option.sample())
    }

    /// A call with all options, whose keys are k, or k1, k2 and so on. What begins with a key and
    /// may be given several times is given twice.
    pub fn sentence(&self) -> String {
        let is_key = |part: &Argument| part.kind == "key";
        let keys = self.arguments.iter().filter(|argument| argument.kind == "key").count();
        let words = self.arguments.iter().enumerate().map(|(place, argument)| {
            match (&*argument.kind, keys) {
                ("key", 1) => "k".to_owned(),
                ("key", _) => format!("k{}", place + 1),
                ("block", _) if argument.parts.first().is_some_and(is_key) => {
                    let after: Vec<_> = argument.parts[1..].iter().map(Argument::sample).collect();
                    let after = after.join(" ");
                    format!("k1 {after} k2 {after}")
                }
                _ => argument.sample(),
            }
        });
        words.fold(self.name.clone(), |line, words| format!("{line} {words}"))
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
