//! Lua in the strings of Java, Kotlin and Go.

/// Lua in other source text.
#[derive(Default, Debug)]
pub struct Found {
    /// The line where it begins, from 1.
    pub line: usize,
    pub lua: String,
    /// Whether it contains values that are only known at run time.
    pub is_joined: bool,
    /// Whether another string or value is joined before or after it.
    pub is_part: bool,
}

/// Strings of Java, Kotlin or Go that call Redis: text blocks, raw strings, and plain strings
/// joined by `+`. A value joined between two of them is represented by its name.
pub fn strings(code: &str) -> Vec<Found> {
    let code = without_comments(code);
    let code = code.as_str();
    let mut found = Vec::new();
    let mut open = Found::default();
    let mut rest = code;
    loop {
        let gap = rest.find(['"', '`']).unwrap_or(rest.len());
        let (between, quoted) = rest.split_at(gap);
        let between = between.trim();
        let value = |c: char| c.is_alphanumeric() || "_.()+".contains(c) || c.is_whitespace();
        let is_joint = between.is_empty() || between == "+";
        let is_value = between.len() > 2
            && between.starts_with('+')
            && between.ends_with('+')
            && between.chars().all(value);
        if is_value && !quoted.is_empty() && open.line > 0 {
            open.lua += between.trim_matches(|c: char| !c.is_alphanumeric());
            open.is_joined = true;
        } else if !is_joint || quoted.is_empty() {
            open.is_part |= between.starts_with('+');
            if open.lua.contains("redis.call") || open.lua.contains("redis.pcall") {
                found.push(std::mem::take(&mut open));
            }
            open = Found { is_part: between.ends_with('+'), ..Found::default() };
        }
        if quoted.is_empty() {
            return found;
        }
        if open.line == 0 {
            open.line = code[..code.len() - quoted.len()].matches('\n').count() + 1;
        }
        let block = ["\"\"\"", "`"].into_iter().find(|quote| quoted.starts_with(quote));
        rest = match block {
            Some(quote) => {
                let (text, after) =
                    quoted[quote.len()..].split_once(quote).unwrap_or((&quoted[quote.len()..], ""));
                open.lua += text;
                after
            }
            None => plain_string(&quoted[1..], &mut open.lua),
        };
    }
}

/// The code with spaces in place of its comments, in the same lines: what is commented out is not
/// loaded.
fn without_comments(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let ends = [
            ("\"\"\"", "\"\"\"", true),
            ("`", "`", true),
            ("//", "\n", false),
            ("/*", "*/", false),
        ];
        let found = ends.into_iter().find(|(start, ..)| rest.starts_with(start));
        let len = match (found, first) {
            (Some((start, end, _)), _) => {
                let after = rest[start.len()..].find(end).map(|at| start.len() + at);
                let close = if end == "\n" { 0 } else { end.len() };
                after.map_or(rest.len(), |at| at + close)
            }
            (None, '"') => rest.len() - plain_string(&rest[1..], &mut String::new()).len(),
            (None, '\'') => match rest.as_bytes() {
                [_, b'\\', _, b'\'', ..] => 4,
                [_, _, b'\'', ..] => 3,
                _ => 1,
            },
            (None, other) => other.len_utf8(),
        };
        let len = if rest.is_char_boundary(len) { len } else { first.len_utf8() };
        let (text, after) = rest.split_at(len);
        match found {
            // A quote between single ones begins no string.
            None if first == '\'' => kept.extend(text.chars().map(|_| ' ')),
            Some((.., false)) => {
                kept.extend(text.chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }));
            }
            _ => kept.push_str(text),
        }
        rest = after;
    }
    kept
}

/// Reads a string with escapes into `into`, and returns the text after its closing quote.
fn plain_string<'a>(text: &'a str, into: &mut String) -> &'a str {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return &text[at + 1..],
            '\\' => into.push(match letters.next() {
                Some((_, 'n')) => '\n',
                Some((_, 't')) => '\t',
                Some((_, 'r')) => '\r',
                Some((_, other)) => other,
                None => ' ',
            }),
            other => into.push(other),
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found_in_the_strings_of_java_and_go() {
        let java = "class A {\n String a = \"redis.call('get', \" +\n  \"\\\"k\\\")\\n\";\n\
            String b = \"\"\"\n  redis.call('x')\n  \"\"\"; String c = \"none\";";
        let found = strings(java);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[0].line, &*found[0].lua), (2, "redis.call('get', \"k\")\n"));
        assert_eq!((found[1].line, found[1].is_joined), (4, false));
        let comments = "// a(`redis.call('a')`)\n/* \"redis.call('b')\" */ char c = '\"';\n\
            String url = \"http://x\"; String d = \"redis.call('d')\"; // \"redis.call('e')\"";
        let found = strings(comments);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].line, &*found[0].lua), (3, "redis.call('d')"));
        let go = strings("var s = redis.NewScript(`redis.call('a')`)");
        assert_eq!((go[0].line, &*go[0].lua), (1, "redis.call('a')"));
    }
}
