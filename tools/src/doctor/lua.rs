//! What a script's text shows, read by a parser: how many KEYS and ARGV it uses, its constants, and
//! its branches. Each branch gets a mark in a copy of the text, so that a run shows which branches
//! it took. What a script does is not read from its text but seen when it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use full_moon::ast::{self, LuaVersion};
use full_moon::node::Node;
use full_moon::tokenizer::{StringLiteralQuoteType, TokenReference, TokenType};
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
    /// Whether it decodes JSON, so that arguments must be JSON.
    pub decodes: bool,
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
        let (builder, text) = (thread::Builder::new().stack_size(STACK_LEN), text.to_owned());
        builder.spawn(move || Self::parsed(&text)).ok()?.join().ok()?
    }

    fn parsed(text: &str) -> Option<Self> {
        let ast = full_moon::parse_fallible(text, LuaVersion::lua51()).into_result().ok()?;
        let tokens = in_order(ast.nodes());
        let mut lua = Self::default();
        lua.read_tables(&tokens);
        lua.read_constants(&tokens);
        lua.commands = (0..tokens.len()).filter_map(|at| called(&tokens[at..])).collect();
        let mut marks = Marks { answers: answers(&tokens), ..Marks::default() };
        marks.visit_ast(&ast);
        let dead = &marks.dead;
        marks
            .places
            .retain(|place| !dead.iter().any(|(from, to)| (*from..*to).contains(&place.at)));
        marks.places.sort_by_key(|place| place.at);
        let mut rest = 0;
        for (number, Place { at, is_else, branch }) in marks.places.into_iter().enumerate() {
            let call = format!("redis.call('ECHO','{MARK}{number}');");
            let call = if is_else { format!(" else {call} ") } else { format!(" {call} ") };
            lua.marked += text.get(rest..at)?;
            lua.marked += &call;
            rest = at;
            lua.branches.push(branch);
        }
        lua.marked += text.get(rest..)?;
        Some(lua)
    }

    fn read_tables(&mut self, tokens: &[&TokenReference]) {
        let text = |at: usize| tokens.get(at).map(|token| token.token().to_string());
        let is = |at: usize, word: &str| text(at).is_some_and(|text| text == word);
        for at in 0..tokens.len() {
            let is_field = at > 0 && (is(at - 1, ".") || is(at - 1, ":"));
            match text(at).unwrap_or_default().as_str() {
                name @ ("KEYS" | "ARGV") if !is_field => {
                    let number = text(at + 2).and_then(|text| text.parse::<usize>().ok());
                    let is_constant = is(at + 1, "[") && is(at + 3, "]");
                    let highest = if name == "KEYS" { &mut self.keys } else { &mut self.args };
                    match number.filter(|_| is_constant) {
                        Some(number) => *highest = number.max(*highest),
                        // The number of them alone is no use of any.
                        None => self.computes |= at == 0 || !is(at - 1, "#"),
                    }
                }
                "cjson" | "cmsgpack" if !is_field => self.decodes |= is(at + 2, "decode"),
                "redis" | "server" if !is_field => self.calls_redis = true,
                // Of a misspelt redis.
                "call" | "pcall" if is_field => self.calls_redis = true,
                "register_function" => {
                    // A name in quotes, alone or as a field.
                    let near = (at + 1..at + 8).find_map(|at| string(tokens.get(at)?));
                    self.functions.extend(near);
                }
                _ => {}
            }
        }
    }

    fn read_constants(&mut self, tokens: &[&TokenReference]) {
        for token in tokens {
            match token.token().token_type() {
                TokenType::Number { text } => {
                    self.numbers.extend(text.parse::<i64>().ok().filter(|n| *n < 1 << 53));
                }
                TokenType::StringLiteral { .. } => self.texts.extend(string(token)),
                _ => {}
            }
        }
    }

    /// The line numbers of branches, for people.
    pub fn lines(&self, number: usize) -> String {
        match self.branches.get(number) {
            Some(branch) if branch.first_line == branch.last_line => {
                format!("line {}", branch.first_line)
            }
            Some(branch) => format!("lines {} to {}", branch.first_line, branch.last_line),
            None => String::new(),
        }
    }
}

/// The text between quotes, if it has no escapes.
fn string(token: &TokenReference) -> Option<String> {
    match token.token().token_type() {
        TokenType::StringLiteral { literal, quote_type, .. } => {
            let is_plain = *quote_type != StringLiteralQuoteType::Brackets;
            (is_plain && !literal.contains('\\')).then(|| literal.to_string())
        }
        _ => None,
    }
}

/// The tokens of a part of the text. The parser has brackets before what is between them.
fn in_order(node: &impl Node) -> Vec<&TokenReference> {
    let mut tokens: Vec<&TokenReference> = node.tokens().collect();
    tokens.sort_by_key(|token| token.token().start_position().bytes());
    tokens
}

/// The name of the command, where tokens begin with its call: `redis.call('DECR'`.
fn called(tokens: &[&TokenReference]) -> Option<String> {
    let text = |at: usize| tokens.get(at).map(|token| token.token().to_string());
    let is = |at: usize, words: &[&str]| text(at).is_some_and(|text| words.contains(&&*text));
    let is_call = is(0, &["redis", "server"]) && is(2, &["call", "pcall"]) && is(3, &["("]);
    let name = tokens.get(4).filter(|_| is_call).and_then(|token| string(token))?;
    Some(name.to_uppercase())
}

/// Locals that only ever hold the answer of one command, and its name:
/// `local left = tonumber(redis.call('DECR', key))`.
fn answers(tokens: &[&TokenReference]) -> BTreeMap<String, String> {
    let text = |at: usize| tokens.get(at).map(|token| token.token().to_string());
    let mut all: BTreeMap<String, Option<String>> = BTreeMap::new();
    for at in 1..tokens.len() {
        if text(at).is_none_or(|text| text != "=") {
            continue;
        }
        let is_number = text(at + 1).is_some_and(|text| text == "tonumber");
        let from = if is_number { at + 3 } else { at + 1 };
        let name = tokens.get(from..).and_then(called);
        let local = text(at - 1).unwrap_or_default();
        // Not if it gets another value, too.
        let name = name.filter(|_| !all.contains_key(&local));
        all.insert(local, name);
    }
    all.into_iter().filter_map(|(local, name)| Some((local, name?))).collect()
}

struct Place {
    at: usize,
    /// Whether the branch is missing in the text: nothing happens if the condition is false.
    is_else: bool,
    branch: Branch,
}

#[derive(Default)]
struct Marks {
    places: Vec<Place>,
    answers: BTreeMap<String, String>,
    /// From where to where no run can get, since what is before always returns.
    dead: Vec<(usize, usize)>,
}

impl Marks {
    fn block(&mut self, start: &TokenReference, block: &ast::Block, checks: Option<String>) {
        let start = start.token().end_position();
        let lines = block.range().map(|(from, to)| (from.line(), to.line()));
        let (first_line, last_line) = lines.unwrap_or((start.line(), start.line()));
        let branch = Branch { first_line, last_line, checks };
        self.places.push(Place { at: start.bytes(), is_else: false, branch });
    }

    /// The command of whose answer a condition asks whether it is nothing, none or below zero.
    fn checks(&self, condition: &ast::Expression) -> Option<String> {
        let tokens = in_order(condition);
        let (mut name, mut at, mut words) = (None, 0, Vec::new());
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token.token().to_string().as_str() {
                word @ ("not" | "nil" | "false" | "<" | "<=" | "==" | "~=" | "0" | "1" | ">"
                | ">=" | "(" | ")" | "tonumber") => words.push(word.to_owned()),
                "redis" | "server" => {
                    name = Some(called(&tokens[at - 1..])?);
                    let mut depth = 0;
                    while let Some(token) = tokens.get(at).filter(|_| depth >= 0) {
                        match token.token().to_string().as_str() {
                            "(" => depth += 1,
                            ")" if depth == 1 => depth = -1,
                            ")" => depth -= 1,
                            _ => {}
                        }
                        at += 1;
                    }
                }
                word => name = Some(self.answers.get(word)?.clone()),
            }
        }
        // More than one may be a limit.
        let is_limit =
            words.iter().any(|word| word.starts_with('>')) && words.iter().any(|word| word == "1");
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
            self.dead.push((from, to.bytes()));
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
                let line = end.line();
                let branch = Branch { first_line: line, last_line: line, checks };
                self.places.push(Place { at: end.bytes(), is_else: true, branch });
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
