//! The shop's own statements, `--statements FILE`: SQL with named values, run in the transaction
//! that writes the row, once for each change of an order's state. Pure, except for reading the
//! file.

pub mod block;
mod shape;
pub mod text;
mod transaction;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;

use crate::sql::{Arg, Dialect};
use crate::steps::{Change, Step};
use block::Block;
use shape::Shape;

/// A value that a statement may name: its name, whether it is a number rather than text, and what
/// it is for a change.
type Value = (&'static str, bool, for<'s> fn(&'s Step) -> Arg<'s>);

const VALUES: [Value; 10] = [
    ("order_id", false, |step| Arg::Text(&step.key.order)),
    ("user_id", false, |step| Arg::Text(&step.key.user)),
    ("voucher_id", false, |step| Arg::Text(&step.key.voucher)),
    ("sale_id", false, |step| Arg::Text(&step.key.sale)),
    ("units", true, |step| Arg::Int(step.units)),
    ("state", false, |step| Arg::Text(step.new.word())),
    ("old_state", false, |step| Arg::MaybeText(step.old.map(|state| state.word()))),
    ("deadline_ms", true, |step| Arg::MaybeInt(step.deadline_ms)),
    ("kept", true, |step| Arg::Int(step.kept)),
    ("ref", false, |step| Arg::MaybeText(step.reference.as_deref())),
];

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    on_sold: Vec<FileStatement>,
    on_held: Vec<FileStatement>,
    on_confirmed: Vec<FileStatement>,
    on_reduced: Vec<FileStatement>,
    on_released: Vec<FileStatement>,
    on_restored: Vec<FileStatement>,
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a statement is a text, or { sql = \"..\", may_change_nothing = true }"
)]
enum FileStatement {
    Sql(String),
    Table(Table),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    sql: String,
    /// Is it fine if no row is changed?
    #[serde(default)]
    may_change_nothing: bool,
}

/// One statement, in the SQL of a database.
#[derive(Clone, Debug)]
pub struct ShopStatement {
    /// The statement's place in the file.
    pub place: String,
    pub sql: String,
    pub may_change_nothing: bool,
    values: Vec<Value>,
    /// The statement with the names of a block's values.
    in_block: String,
    shape: Shape,
    /// Why the statement is sent alone, for each order.
    pub alone: Option<&'static str>,
}

/// All statements of the file; none by default.
#[derive(Clone, Debug, Default)]
pub struct Statements {
    of: BTreeMap<Change, Vec<ShopStatement>>,
    /// Runs them for many changes at once, if the database and all statements allow it.
    pub block: Option<Block>,
}

impl Statements {
    pub fn read(path: &Path, dialect: Dialect) -> Result<Self> {
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("--statements {}", path.display()))?;
        Self::parse(&text, dialect).with_context(|| format!("--statements {}", path.display()))
    }

    fn parse(text: &str, dialect: Dialect) -> Result<Self> {
        let File { on_sold, on_held, on_confirmed, on_reduced, on_released, on_restored } =
            toml::from_str(text).map_err(|error| {
                let before = error.span().and_then(|span| text.get(..span.start));
                let line = before.unwrap_or_default().matches('\n').count() + 1;
                anyhow!("line {line}: {}", error.message().replace('\n', ", "))
            })?;
        let written = [on_sold, on_held, on_confirmed, on_reduced, on_released, on_restored];
        let mut of = BTreeMap::new();
        for (change, written) in Change::ALL.into_iter().zip(written) {
            let mut statements = Vec::new();
            for (number, written) in written.into_iter().enumerate() {
                let place = format!("{}, statement {}", change.word(), number + 1);
                let table = match written {
                    FileStatement::Sql(sql) => Table { sql, may_change_nothing: false },
                    FileStatement::Table(table) => table,
                };
                ensure!(!table.sql.trim().is_empty(), "{place}: it is empty");
                if let Some(why) = transaction::may_end(&table.sql, dialect) {
                    bail!("{place}: {why}");
                }
                let placeholder = |number: usize, _: &str| match dialect {
                    Dialect::Postgres => format!("${number}"),
                    Dialect::Sqlite | Dialect::MySql => "?".to_owned(),
                };
                let (sql, values) =
                    named(&table.sql, dialect, placeholder).context(place.clone())?;
                let in_block = |_, word: &str| block::value(dialect, word);
                let (in_block, _) = named(&table.sql, dialect, in_block)?;
                let may_change_nothing = table.may_change_nothing;
                statements.push(ShopStatement {
                    place,
                    sql,
                    may_change_nothing,
                    values,
                    in_block,
                    shape: Shape::of(&table.sql),
                    alone: block::alone(&table.sql, dialect),
                });
            }
            of.insert(change, statements);
        }
        let mut all = Self { of, block: None };
        ensure!(!all.is_empty(), "it has no statement");
        all.block = block::block(&all, dialect);
        Ok(all)
    }

    pub fn of(&self, change: Change) -> &[ShopStatement] {
        self.of.get(&change).map_or(&[], Vec::as_slice)
    }

    pub fn all(&self) -> impl Iterator<Item = &ShopStatement> {
        self.of.values().flatten()
    }

    /// The tables of statements that use one each.
    pub fn tables(&self) -> Vec<String> {
        let tables: BTreeSet<_> = self.all().filter_map(|one| one.shape.table()).collect();
        tables.into_iter().map(str::to_owned).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// The values that statements name, each once.
    fn values(&self) -> Vec<Value> {
        let named = |word| self.all().any(|one| one.values.iter().any(|(its, ..)| *its == word));
        VALUES.into_iter().filter(|(word, ..)| named(*word)).collect()
    }
}

impl ShopStatement {
    /// The values for a change, in the order of the placeholders.
    pub fn args<'s>(&self, step: &'s Step) -> Vec<Arg<'s>> {
        self.args_of(step, step.units)
    }

    /// Whether it asks the database to store another value where a column can't store its own.
    pub fn is_lax(&self) -> bool {
        self.sql
            .to_ascii_uppercase()
            .split(|letter| !is_of_word(letter))
            .any(|word| word == "IGNORE")
    }

    /// The values for a change that a column of numbers would take for other ones, such as 007,
    /// with their places among the arguments.
    pub fn odd<'s>(&self, step: &'s Step) -> Vec<(usize, &'s str)> {
        let is_odd = |text: &str| {
            let is_usual = is_number(text.strip_prefix('-').unwrap_or(text));
            !is_usual && text.trim().parse::<f64>().is_ok()
        };
        let args = self.args(step).into_iter().enumerate();
        args.filter_map(|(place, arg)| match arg {
            Arg::Text(text) | Arg::MaybeText(Some(text)) if is_odd(text) => Some((place, text)),
            _ => None,
        })
        .collect()
    }

    /// Like `args`, with these units.
    fn args_of<'s>(&self, step: &'s Step, units: i64) -> Vec<Arg<'s>> {
        let arg = |(word, _, of): &Value| if *word == "units" { Arg::Int(units) } else { of(step) };
        self.values.iter().map(arg).collect()
    }

    /// For each placeholder, whether it is a number rather than text.
    pub fn numbers(&self) -> impl Iterator<Item = bool> {
        self.values.iter().map(|(_, is_number, _)| *is_number)
    }
}

/// Replaces each `:name` by a placeholder, made of a number from 1 and the name. Quoted text,
/// comments and PostgreSQL's `::type` stay unchanged.
fn named(
    sql: &str,
    dialect: Dialect,
    placeholder: impl Fn(usize, &str) -> String,
) -> Result<(String, Vec<Value>)> {
    let (mut text, mut values) = (String::new(), Vec::new());
    let mut rest = sql;
    while let Some(letter) = rest.chars().next() {
        let literal = match letter {
            '\'' | '"' | '`' => quoted(&text, rest, dialect)?,
            '$' if dialect == Dialect::Postgres => dollar_quoted(&text, rest)?,
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => match rest.find("*/") {
                Some(end) => end + 2,
                None => bail!("a comment is not closed"),
            },
            '?' => bail!("? is not supported, values have names: {}", list()),
            ':' if rest.starts_with("::") => 2,
            ':' => 0,
            letter => letter.len_utf8(),
        };
        if literal > 0 {
            text.push_str(&rest[..literal]);
            rest = &rest[literal..];
            continue;
        }
        let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = rest[1..].find(|letter| !word(letter)).map_or(rest.len(), |end| end + 1);
        let name = &rest[1..end];
        let Some(value) = VALUES.into_iter().find(|(known, ..)| *known == name) else {
            bail!(":{name} is not a value; the values are {}", list());
        };
        values.push(value);
        text.push_str(&placeholder(values.len(), name));
        rest = &rest[end..];
    }
    Ok((text, values))
}

/// The length of the quoted text with which `text` begins. A quote inside is doubled, which reads
/// as two texts. A backslash escapes in MySQL's texts and in PostgreSQL's `E'..'`, nowhere else.
fn quoted(before: &str, text: &str, dialect: Dialect) -> Result<usize> {
    let mut letters = text.char_indices();
    let quote = letters.next().map_or('\'', |(_, quote)| quote);
    let escapes = match dialect {
        Dialect::MySql => quote != '`',
        Dialect::Postgres => {
            let word = before.len() - before.trim_end_matches(is_of_word).len();
            quote == '\'' && word == 1 && before.ends_with(['e', 'E'])
        }
        Dialect::Sqlite => false,
    };
    while let Some((place, letter)) = letters.next() {
        match letter {
            '\\' if escapes => _ = letters.next(),
            letter if letter == quote => return Ok(place + 1),
            _ => {}
        }
    }
    bail!("a quote {quote} is not closed")
}

/// The length of PostgreSQL's `$$..$$` or `$tag$..$tag$`, or 1 for any other `$`.
fn dollar_quoted(before: &str, text: &str) -> Result<usize> {
    let end = text[1..].find(|letter| !is_of_word(letter)).map_or(text.len(), |end| end + 1);
    let is_tag = text[end..].starts_with('$') && !text[1..].starts_with(|c: char| c.is_numeric());
    if !is_tag || before.ends_with(is_of_word) {
        return Ok(1);
    }
    let tag = &text[..=end];
    match text[tag.len()..].find(tag) {
        Some(inside) => Ok(inside + 2 * tag.len()),
        None => bail!("a quote {tag} is not closed"),
    }
}

/// A decimal number in its only usual form: two of these are different for every type and
/// collation.
fn is_number(text: &str) -> bool {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && (text.len() == 1 || !text.starts_with('0'))
}

/// Whether a letter may be in a name of SQL.
pub fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn list() -> String {
    VALUES.map(|(name, ..)| format!(":{name}")).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(text: &str, dialect: Dialect) -> String {
        let file = format!("on_sold = ['''{text}''']");
        Statements::parse(&file, dialect).unwrap().of(Change::Sold)[0].sql.clone()
    }

    #[test]
    fn names_become_placeholders_outside_of_quotes_and_comments() {
        let text = "UPDATE t SET a = ':units', b = :units -- :units\n, `c:d` = :state /* :x */";
        let want = "UPDATE t SET a = ':units', b = ? -- :units\n, `c:d` = ? /* :x */";
        assert_eq!(sql(text, Dialect::MySql), want);
        let text = "SELECT :order_id::bigint, 'it''s :units', :order_id";
        assert_eq!(sql(text, Dialect::Postgres), "SELECT $1::bigint, 'it''s :units', $2");
    }

    /// Which names of `text` became placeholders.
    fn replaced(text: &str, dialect: Dialect) -> Result<String, String> {
        let placed = named(text, dialect, |_, word| format!("<{word}>"));
        placed.map(|(sql, _)| sql).map_err(|error| error.to_string())
    }

    #[test]
    fn a_quote_ends_where_the_database_ends_it() {
        use Dialect::{MySql, Postgres, Sqlite};
        // In the first text the backslash is a letter, in the second it escapes the quote.
        let (letter, escape) = (r"'\', :units, ' :state'", r"'it\'s :units', :state");
        for dialect in [Sqlite, Postgres] {
            let want = r"'\', <units>, ' :state'";
            assert_eq!(replaced(letter, dialect).as_deref(), Ok(want), "{dialect:?}");
            assert!(replaced(escape, dialect).is_err(), "{dialect:?}");
        }
        assert_eq!(replaced(escape, MySql).as_deref(), Ok(r"'it\'s :units', <state>"));
        assert!(replaced(letter, MySql).is_err());
        for (text, want) in
            [(r"`a\`, :units", r"`a\`, <units>"), (r#""a\":units""#, r#""a\":units""#)]
        {
            assert_eq!(replaced(text, MySql).as_deref(), Ok(want), "{text}");
        }
        for (text, want) in [
            (r"E'it\'s :units', :state", r"E'it\'s :units', <state>"),
            (r"date'\', :units", r"date'\', <units>"),
            (r#""a\", :units"#, r#""a\", <units>"#),
            ("$$it's :units$$, :state", "$$it's :units$$, <state>"),
            ("$do$ $$ :units $$ $do$, :state", "$do$ $$ :units $$ $do$, <state>"),
            ("a$b$, :units, c$b$", "a$b$, <units>, c$b$"),
            ("'$', :units, '$'", "'$', <units>, '$'"),
        ] {
            assert_eq!(replaced(text, Postgres).as_deref(), Ok(want), "{text}");
        }
        assert!(replaced("$do$ :units", Postgres).is_err());
        assert_eq!(replaced("$$ :units $$", Sqlite).as_deref(), Ok("$$ <units> $$"));
    }

    #[test]
    fn a_file_is_read() {
        let text = "on_sold = [\"INSERT INTO o VALUES (:order_id)\", \
                    { sql = \"DELETE FROM cart\", may_change_nothing = true }]";
        let statements = Statements::parse(text, Dialect::Sqlite).unwrap();
        let sold = statements.of(Change::Sold);
        assert_eq!(sold.len(), 2);
        assert_eq!(
            (&*sold[0].sql, sold[0].may_change_nothing),
            ("INSERT INTO o VALUES (?)", false)
        );
        assert!(sold[1].may_change_nothing && statements.of(Change::Held).is_empty());
    }

    #[test]
    fn mistakes_are_told() {
        for (text, words) in [
            ("", "it has no statement"),
            ("on_sale = [\"SELECT 1\"]", "unknown field `on_sale`"),
            ("on_sold = [\"SELECT :user\"]", ":user is not a value; the values are :order_id"),
            ("on_sold = [\"SELECT ?\"]", "values have names"),
            ("on_sold = [\"\"]", "on_sold, statement 1: it is empty"),
            ("on_sold = [\"SELECT 'x\"]", "is not closed"),
            ("on_sold = \"SELECT 1\"", "expected"),
            ("on_sold = [{ sql = \"SELECT 1\", optional = true }]", "a statement is a text, or {"),
        ] {
            let refusal = format!("{:#}", Statements::parse(text, Dialect::Sqlite).unwrap_err());
            assert!(refusal.contains(words), "{text}: {refusal}");
        }
    }
}
