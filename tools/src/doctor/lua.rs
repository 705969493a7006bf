//! What a script's text shows, read by a parser: how many KEYS and ARGV it uses, its constants, and
//! its branches. Each branch gets a mark in a copy of the text, so that a run shows which branches
//! it took. What a script does is not read from its text but seen when it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::thread;

use full_moon::ast::{self, LuaVersion};
use full_moon::node::Node;
use full_moon::tokenizer::TokenReference;
use full_moon::visitors::Visitor;

/// What a marked branch sends: `ECHO <MARK><number>`.
pub const MARK: &str = "seckill-doctor-branch:";

/// The longest text that is read. The parser recurses, at most once in two bytes.
const LEN_MAX: usize = 16 << 10;

/// The stack of the thread that parses: memory that is not touched is not used.
const STACK_LEN: usize = 1 << 30;

/// A block of statements that a condition, a loop or a call decides about.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Where in the text it begins.
    at: usize,
    /// Whether it is missing in the text: nothing happens if the condition is false.
    is_else: bool,
    pub first_line: usize,
    pub last_line: usize,
    /// The command of whose answer alone the condition asks whether it is a failure.
    pub checks: Option<String>,
}

/// What the text shows.
#[derive(Default, Debug)]
pub struct Lua {
    /// The highest constant index of KEYS, and of ARGV.
    pub keys: usize,
    pub args: usize,
    /// Whether it uses an index of KEYS or ARGV that is computed: `ARGV[i]`, `unpack(KEYS)`.
    pub computes: bool,
    pub texts: BTreeSet<String>,
    pub numbers: BTreeSet<i64>,
    pub branches: Vec<Branch>,
    /// The text, with a mark at the start of each branch.
    pub marked: String,
    /// Names of functions that a library registers.
    pub functions: Vec<String>,
    /// Commands that it calls by name.
    pub commands: BTreeSet<String>,
    /// Whether it calls redis at all.
    pub calls_redis: bool,
}

impl Lua {
    /// None if the parser can't read the text; whether the server can is another question.
    pub fn read(text: &str) -> Option<Self> {
        if text.len() > LEN_MAX {
            return None;
        }
        // The first line of a library is none of Lua: it is read as a comment.
        let is_shebang = text.starts_with("#!");
        let text = if is_shebang { text.replacen("#!", "--", 1) } else { text.to_owned() };
        let builder = thread::Builder::new().stack_size(STACK_LEN);
        let mut lua = builder.spawn(move || Self::parsed(&text)).ok()?.join().ok()??;
        if is_shebang {
            lua.marked.replace_range(..2, "#!");
        }
        Some(lua)
    }

    fn parsed(text: &str) -> Option<Self> {
        let ast = full_moon::parse_fallible(text, LuaVersion::lua51()).into_result().ok()?;
        let tokens = in_order(ast.nodes());
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let mut lua = Self::default();
        lua.read_tokens(&tokens);
        let mut marks = Marks { answers: answers(&tokens), ..Marks::default() };
        marks.visit_ast(&ast);
        let Marks { mut branches, dead, .. } = marks;
        branches.retain(|branch| !dead.iter().any(|part| part.contains(&branch.at)));
        branches.sort_by_key(|branch| branch.at);
        let mut rest = 0;
        for (number, branch) in branches.iter().enumerate() {
            let word = if branch.is_else { " else" } else { "" };
            lua.marked += text.get(rest..branch.at)?;
            lua.marked += &format!("{word} redis.call('ECHO','{MARK}{number}'); ");
            rest = branch.at;
        }
        lua.marked += text.get(rest..)?;
        lua.branches = branches;
        Some(lua)
    }

    fn read_tokens(&mut self, tokens: &[&str]) {
        for (at, token) in tokens.iter().enumerate() {
            let (before, after) = (&tokens[..at], &tokens[at + 1..]);
            let is_field = matches!(before, [.., "." | ":"]);
            self.numbers.extend(token.parse::<i64>().ok().filter(|n| *n < 1 << 53));
            self.texts.extend(string(token));
            self.commands.extend(called(&tokens[at..]));
            match *token {
                name @ ("KEYS" | "ARGV") if !is_field => {
                    let highest = if name == "KEYS" { &mut self.keys } else { &mut self.args };
                    let number = match after {
                        ["[", number, "]", ..] => number.parse::<usize>().ok(),
                        _ => None,
                    };
                    match number {
                        Some(number) => *highest = number.max(*highest),
                        // The number of them alone is no use of any.
                        None => self.computes |= !matches!(before, [.., "#"]),
                    }
                }
                "redis" | "server" if !is_field => self.calls_redis = true,
                // Of a misspelt redis.
                "call" | "pcall" if is_field => self.calls_redis = true,
                // A name in quotes, alone or as a field.
                "register_function" => {
                    self.functions.extend(after.iter().take(7).find_map(|token| string(token)));
                }
                _ => {}
            }
        }
    }

    /// The line numbers of a branch, for people.
    pub fn lines(&self, number: usize) -> String {
        let Branch { first_line, last_line, .. } = self.branches[number];
        match first_line == last_line {
            true => format!("line {first_line}"),
            false => format!("lines {first_line} to {last_line}"),
        }
    }
}

/// The text between quotes, if it has no escapes.
fn string(token: &str) -> Option<String> {
    let quote = token.chars().next().filter(|quote| ['\'', '"'].contains(quote))?;
    let text = token.strip_prefix(quote)?.strip_suffix(quote)?;
    (!text.contains('\\')).then(|| text.to_owned())
}

/// The tokens of a part of the text. The parser has brackets before what is between them.
fn in_order(node: &impl Node) -> Vec<String> {
    let mut tokens: Vec<&TokenReference> = node.tokens().collect();
    tokens.sort_by_key(|token| token.token().start_position().bytes());
    tokens.into_iter().map(|token| token.token().to_string()).collect()
}

/// The name of the command, where tokens begin with its call: `redis.call('DECR'`.
fn called(tokens: &[&str]) -> Option<String> {
    match tokens {
        ["redis" | "server", _, "call" | "pcall", "(", name, ..] => {
            Some(string(name)?.to_uppercase())
        }
        _ => None,
    }
}

/// Locals that only ever hold the answer of one command, and its name:
/// `local left = tonumber(redis.call('DECR', key))`.
fn answers(tokens: &[&str]) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, Option<String>> = BTreeMap::new();
    for at in 1..tokens.len() {
        let (["=", "tonumber", _, value @ ..] | ["=", value @ ..]) = &tokens[at..] else {
            continue;
        };
        let local = tokens[at - 1];
        // Not if it gets another value, too.
        let name = called(value).filter(|_| !all.contains_key(local));
        all.insert(local.to_owned(), name);
    }
    all.into_iter().filter_map(|(local, name)| Some((local, name?))).collect()
}

#[derive(Default)]
struct Marks {
    branches: Vec<Branch>,
    answers: BTreeMap<String, String>,
    /// Where no run can get, since what is before always returns.
    dead: Vec<Range<usize>>,
}

impl Marks {
    fn block(&mut self, start: &TokenReference, block: &ast::Block, checks: Option<String>) {
        let start = start.token().end_position();
        let lines = block.range().map(|(from, to)| (from.line(), to.line()));
        let (first_line, last_line) = lines.unwrap_or((start.line(), start.line()));
        let (at, is_else) = (start.bytes(), false);
        self.branches.push(Branch { at, is_else, first_line, last_line, checks });
    }

    /// The command of whose answer a condition asks whether it is nothing, none or below zero.
    fn checks(&self, condition: &ast::Expression) -> Option<String> {
        let tokens = in_order(condition);
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let (mut name, mut words, mut rest) = (None, Vec::new(), tokens.as_slice());
        while let [word, after @ ..] = rest {
            match *word {
                "not" | "nil" | "false" | "<" | "<=" | "==" | "~=" | "0" | "1" | ">" | ">="
                | "(" | ")" | "tonumber" => words.push(*word),
                "redis" | "server" => {
                    name = Some(called(rest)?);
                    let mut depth = 0;
                    let len = rest.iter().position(|token| {
                        depth += i32::from(*token == "(") - i32::from(*token == ")");
                        *token == ")" && depth == 0
                    })?;
                    rest = &rest[len + 1..];
                    continue;
                }
                word => name = Some(self.answers.get(word)?.clone()),
            }
            rest = after;
        }
        // More than one may be a limit.
        let is_limit = words.iter().any(|word| word.starts_with('>')) && words.contains(&"1");
        name.filter(|_| !is_limit)
    }
}

/// Whether a run that enters a block returns in it.
fn returns(block: &ast::Block) -> bool {
    let mut stmts = block.stmts();
    matches!(block.last_stmt(), Some(ast::LastStmt::Return(_)))
        || stmts.any(|stmt| matches!(stmt, ast::Stmt::If(node) if returns_always(node)))
}

fn returns_always(node: &ast::If) -> bool {
    let mut others = node.else_if().into_iter().flatten().map(ast::ElseIf::block);
    returns(node.block()) && others.all(returns) && node.else_block().is_some_and(returns)
}

impl Visitor for Marks {
    fn visit_block(&mut self, node: &ast::Block) {
        let ends = |stmt: &ast::Stmt| match stmt {
            ast::Stmt::If(node) if returns_always(node) => node.range().map(|(_, to)| to.bytes()),
            _ => None,
        };
        if let (Some(from), Some((_, to))) = (node.stmts().find_map(ends), node.range()) {
            self.dead.push(from..to.bytes());
        }
    }

    fn visit_if(&mut self, node: &ast::If) {
        let checks = self.checks(node.condition());
        self.block(node.then_token(), node.block(), checks.clone());
        for other in node.else_if().into_iter().flatten() {
            self.block(other.then_token(), other.block(), None);
        }
        let checks = checks.filter(|_| node.else_if().is_none());
        match (node.else_token(), node.else_block()) {
            (Some(token), Some(block)) => self.block(token, block, checks),
            _ => {
                let end = node.end_token().token().start_position();
                let (at, is_else, line) = (end.bytes(), true, end.line());
                let (first_line, last_line) = (line, line);
                self.branches.push(Branch { at, is_else, first_line, last_line, checks });
            }
        }
    }

    fn visit_while(&mut self, node: &ast::While) {
        self.block(node.do_token(), node.block(), None);
    }

    fn visit_numeric_for(&mut self, node: &ast::NumericFor) {
        self.block(node.do_token(), node.block(), None);
    }

    fn visit_generic_for(&mut self, node: &ast::GenericFor) {
        self.block(node.do_token(), node.block(), None);
    }

    fn visit_function_body(&mut self, node: &ast::FunctionBody) {
        let (_, close) = node.parameters_parentheses().tokens();
        self.block(close, node.block(), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> (usize, usize, bool) {
        let lua = Lua::read(text).expect("Lua");
        (lua.keys, lua.args, lua.computes)
    }

    #[test]
    fn tables_are_counted_outside_of_comments_and_strings() {
        assert_eq!(
            counts("local a, b = ARGV[1], ARGV[ 3 ] -- ARGV[4]\nf(KEYS [2])"),
            (2, 3, false)
        );
        assert_eq!(counts("--[[ ARGV[9] ]] return MY_KEYS[7] .. 'KEYS[8]'"), (0, 0, false));
        assert_eq!(counts("for i = 1, #ARGV do f(ARGV[i]) end"), (0, 0, true));
        assert_eq!(counts("if #KEYS < 2 then return KEYS[1] end"), (1, 0, false));
    }

    #[test]
    fn each_branch_has_a_mark_also_the_one_that_is_not_written() {
        let text = "if a then return 1 elseif b then f() end\nfor i = 1, 2 do g() end return 0";
        let lua = Lua::read(text).expect("Lua");
        assert_eq!(lua.branches.len(), 4, "{}", lua.marked);
        assert_eq!((lua.lines(0), lua.lines(3)), ("line 1".to_owned(), "line 2".to_owned()));
        assert!(Lua::read(&lua.marked).is_some(), "{}", lua.marked);
        assert!(lua.marked.contains("else redis.call('ECHO'"), "{}", lua.marked);
    }

    #[test]
    fn no_text_is_too_long_or_too_deep() {
        let short = format!("--{}", "1".repeat(LEN_MAX - 2));
        assert!(Lua::read(&short).is_some() && Lua::read(&(short + "1")).is_none());
        for (open, close) in [("(", ")"), ("if a then ", "end "), ("{", "}"), ("f(", ")")] {
            let many = LEN_MAX / (open.len() + close.len()) - 10;
            // Read or not, it ends.
            let _ = Lua::read(&format!("return {}1{}", open.repeat(many), close.repeat(many)));
        }
        for chain in ["a .. ", "- ", "2^", "not ", "1+"] {
            let _ = Lua::read(&format!("return {}1", chain.repeat(LEN_MAX / chain.len() - 10)));
        }
    }
}
