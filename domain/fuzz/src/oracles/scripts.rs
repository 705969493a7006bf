//! The scripts that commands replace: entries as a model reads them, and calls as it rewrites them.

use domain::scripts::{
    Argument, ArgumentSource, Callable, ScriptTexts, Scripts, Sha1, WordPattern,
};

use crate::input::Input;

fn commands() -> Vec<Callable> {
    let any = || WordPattern::Any("w".into());
    let token = |word: &str| WordPattern::OneOf(vec![word.into()]);
    let options = [vec![token("UNITS"), any()], vec![token("*")], vec![token("A"), any(), any()]];
    let options = options.map(Argument::Optional).into_iter();
    let command = |name: &str, words_min, arguments: Vec<Argument>| Callable {
        name: name.into(),
        words_min,
        arguments,
    };
    vec![
        command("X.PAIRS", 2, vec![Argument::Repeated(vec![any(), any()], 2)]),
        command("X.TWO", 2, vec![Argument::Required(any()), Argument::Required(any())]),
        command("X.OPT", 1, [Argument::Required(any())].into_iter().chain(options).collect()),
    ]
}

/// All forms of arguments of the commands; None is any word.
fn forms(name: &str) -> Vec<Vec<Option<&'static str>>> {
    let options = [&[Some("UNITS"), None][..], &[Some("*")], &[Some("A"), None, None]];
    match name {
        "X.PAIRS" => vec![vec![None; 2], vec![None; 4]],
        "X.TWO" => vec![vec![None; 2]],
        // Every option in every order, and the beginnings of these.
        _ => [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
            .iter()
            .flat_map(|order| (0..=3).map(|many| &order[..many]))
            .map(|order| order.iter().flat_map(|option| options[*option]).copied())
            .map(|options| [None].into_iter().chain(options).collect())
            .collect(),
    }
}

/// Whether the words match this form.
fn can_be(form: &[Option<&str>], words: &[&str]) -> bool {
    let fits = |(wanted, word): (&Option<&str>, &&str)| {
        let Some(wanted) = wanted else { return true };
        word.eq_ignore_ascii_case(wanted) || numbered(word) != Ok(None)
    };
    form.len() == words.len() && form.iter().zip(words).all(fits)
}

/// An entry as the model reads it: sha1, command, arguments.
type Entry<'t> = (String, &'static str, Vec<&'t str>);

/// `KEYS[n]` or `ARGV[n]`; an error if a word only looks like one.
fn numbered(word: &str) -> Result<Option<(bool, usize)>, ()> {
    for (name, is_key) in [("keys[", true), ("argv[", false)] {
        if word.to_ascii_lowercase().starts_with(name) {
            let number = word[name.len()..].strip_suffix(']').ok_or(())?;
            let n: usize = number.parse().map_err(drop)?;
            let spelled = format!("{}{n}]", name.to_uppercase());
            return if spelled == word && n > 0 { Ok(Some((is_key, n))) } else { Err(()) };
        }
    }
    Ok(None)
}

fn model(text: &str) -> Option<Vec<Entry<'_>>> {
    let mut entries: Vec<Entry> = Vec::new();
    for entry in text.split(';') {
        let words: Vec<&str> = entry.split_ascii_whitespace().collect();
        let Some((sha1, rest)) = words.split_first() else { continue };
        let sha1 = sha1.to_ascii_lowercase();
        if sha1.len() != 40 || !sha1.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let (name, words) = rest.split_first()?;
        let mut known = ["X.PAIRS", "X.TWO", "X.OPT"].into_iter();
        let name = known.find(|known| known.eq_ignore_ascii_case(name))?;
        let is_twice = entries.iter().any(|(other, ..)| *other == sha1);
        if is_twice || !forms(name).iter().any(|form| can_be(form, words)) {
            return None;
        }
        let mut used = Vec::new();
        for word in words {
            used.extend(numbered(word).ok()?);
        }
        let has = |wanted: &(bool, usize)| used.contains(wanted);
        if used.iter().any(|(is_key, n)| *n > 1 && !has(&(*is_key, n - 1))) {
            return None;
        }
        entries.push((sha1, name, words.to_vec()));
    }
    Some(entries)
}

/// The call as rewritten by the model.
fn rewritten(entry: &Entry, call: &[String]) -> Option<Vec<String>> {
    let keys: usize = call.get(2)?.parse().ok().filter(|n: &usize| n.to_string() == call[2])?;
    let (keys, args) = call[3..].split_at_checked(keys)?;
    let arguments = entry.2.iter().map(|word| match numbered(word) {
        Ok(Some((true, n))) => keys.get(n - 1).cloned(),
        Ok(Some((false, n))) => args.get(n - 1).cloned(),
        _ => Some((*word).to_owned()),
    });
    [Some(entry.1.to_owned())].into_iter().chain(arguments).collect()
}

/// The setting and calls are read as the model reads them; texts are identified by their sha1.
pub(crate) fn scripts(bytes: &[u8]) {
    // The server refuses NUL bytes; a word may contain any other byte.
    let _ = Scripts::parse(bytes, &commands()).map_err(|bad| assert!(bad.to_string().is_ascii()));
    let mut input = Input::new(bytes);
    let texts: [&[u8]; 4] = std::array::from_fn(|_| input.word());
    let text = setting(&mut input, &texts);
    let parsed = Scripts::parse(text.as_bytes(), &commands());
    let entries = model(&text);
    assert_eq!(parsed.is_ok(), entries.is_some(), "{text}: {parsed:?}");
    let (Ok(scripts), Some(entries)) = (parsed, entries) else { return };
    assert_eq!(scripts.is_empty(), entries.is_empty());
    let of_sha1 = |sha1: &str| entries.iter().find(|(other, ..)| *other == sha1);
    for (sha1, ..) in &entries {
        assert!(scripts.of_sha1(sha1.to_uppercase().as_bytes()).is_some(), "{text}");
    }
    let mut known = ScriptTexts::default();
    while !input.is_empty() {
        let script = texts[usize::from(input.below(4))];
        let sha1 = Sha1::of(script).to_string();
        let found = known.find(&scripts, script);
        assert_eq!(found, scripts.of_sha1(sha1.as_bytes()));
        assert_eq!(found.is_some(), of_sha1(&sha1).is_some());
        let (Some(found), Some(entry)) = (found, of_sha1(&sha1)) else { continue };
        let mut call = vec!["EVALSHA".to_owned(), sha1];
        call.push(["0", "1", "2", "9", "-1", "01", "x", ""][usize::from(input.below(8))].into());
        call.extend((0..input.below(6)).map(|number| format!("w{number}")));
        let mut seen = Vec::new();
        let arguments = found.arguments(call.len(), call[2].as_bytes());
        let words = arguments.map(|arguments| {
            let words = arguments.map(|taken| match taken {
                ArgumentSource::Word(word) => {
                    String::from_utf8(word.to_vec()).expect("the model's word")
                }
                ArgumentSource::Call(place) => {
                    assert!(!seen.contains(&place), "{place} was taken before");
                    seen.push(place);
                    call[place].clone()
                }
                ArgumentSource::CallAgain(place) => {
                    assert!(seen.contains(&place), "{place} was not taken before");
                    call[place].clone()
                }
            });
            [found.command.clone()].into_iter().chain(words).collect()
        });
        let wanted = rewritten(entry, &call);
        assert_eq!(words, wanted, "{text}: {call:?}");
        if let Some(piece) = found.piece(call.len(), call[2].as_bytes()) {
            assert_eq!(Some(&call[piece]), wanted.as_ref().map(|words| &words[1..]), "{text}");
        }
    }
}

/// A setting that is usually valid.
fn setting(input: &mut Input, texts: &[&[u8]]) -> String {
    const WORDS: [&str; 12] = [
        "KEYS[1]", "ARGV[1]", "ARGV[2]", "KEYS[2]", "ARGV[3]", "UNITS", "*", "a", "ARGV[1]",
        "ARGV[0]", "argv[1]", "KEYS[2",
    ];
    let mut text = String::new();
    for script in texts.iter().take(usize::from(input.below(5))) {
        let sha1 = Sha1::of(script).to_string();
        text += &if input.flag() { sha1.to_uppercase() } else { sha1 };
        text +=
            [" X.OPT ", " x.two ", " X.OPT\t", " X.PAIRS ", " X.NONE", "0 X.OPT ", " ", " x.opt "]
                [usize::from(input.below(8))];
        for _ in 0..input.below(6) {
            // The last three words are invalid.
            let place = input.byte();
            text += WORDS[usize::from(if place < 250 { place % 9 } else { place % 12 })];
            text += " ";
        }
        text += [";", " ; ", ";;", ";"][usize::from(input.below(4))];
    }
    text
}
