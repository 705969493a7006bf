//! What a script's text shows, read by a parser: which of KEYS and ARGV it reads, its constants,
//! and the parts of its conditions. A copy of the text is marked so that it records whether each
//! part was true or false, and what it calls. What a script does is not read from it but recorded.

use std::collections::BTreeSet;
use std::thread;

use full_moon::ast::{self, BinOp, Expression, LuaVersion, UnOp};
use full_moon::node::Node;
use full_moon::visitors::Visitor;

use crate::template::Slot;

/// What a record begins with.
pub const RECORD: &str = "seckill-doctor-record";

/// Records a script's calls, each with its keys, unless the server refuses it, and the parts of
/// its conditions: twice their number, and one more if it was true. The server tells no keys of a
/// command without arguments.
const RECORDER: &str = "
local redis, server, seckill_doctor, seckill_doctor_record = (function(real)
  local own, calls, parts, known = setmetatable({}, {__index = real}), {}, {}, {}
  for _, name in ipairs({'call', 'pcall'}) do
    own[name] = function(...)
      local words, keys = {...}, real.pcall('COMMAND', 'GETKEYSANDFLAGS', ...)
      for at, word in ipairs(words) do
        if type(word) == 'number' then words[at] = string.format('%.17g', word) end
      end
      local has_none = keys.err and (#words == 1 or string.find(keys.err, 'no key'))
      if has_none or not keys.err then calls[#calls + 1] = {words, has_none and {} or keys} end
      return real[name](...)
    end
  end
  local function part(number, value)
    local seen = 2 * number + (value and 1 or 0)
    if not known[seen] then known[seen] = true parts[#parts + 1] = seen end
    return value
  end
  local function record(ends, reply) return {'RECORD', ends, reply or false, calls, parts} end
  return own, pcall(function() return server.call end) and own or nil, part, record
end)(redis)
return seckill_doctor_record(pcall(function(...) ";

/// A script that does the same, and replies with its record.
pub fn recorded(text: &str) -> Vec<u8> {
    let before = RECORDER.replace('\n', " ").replace("RECORD", RECORD);
    format!("{before}{text}\nend))").into_bytes()
}

/// The longest text that is read. The parser recurses, at most once in two bytes.
const LEN_MAX: usize = 16 << 10;

/// The stack of the thread that parses: memory that is not touched is not used.
const STACK_LEN: usize = 1 << 30;

/// What is between `and`, `or` and `not` in a condition.
pub struct Operand {
    pub line: usize,
    pub text: String,
}

/// What the text shows.
#[derive(Default)]
pub struct Lua {
    /// The highest constant index of KEYS, and of ARGV.
    pub keys: usize,
    pub args: usize,
    /// Each of KEYS and ARGV that it reads by a constant index, and those of which it makes a
    /// number.
    pub reads: BTreeSet<Slot>,
    pub casts: BTreeSet<Slot>,
    /// One that is put into a local that is used nowhere, and named for an order.
    pub order: Option<Slot>,
    /// Whether it uses an index of KEYS or ARGV that is computed: `ARGV[i]`, `unpack(KEYS)`.
    pub computes: bool,
    pub numbers: BTreeSet<i64>,
    pub parts: Vec<Operand>,
    /// The text, with a mark around each part.
    pub marked: String,
}

impl Lua {
    /// None if the parser can't read the text; whether the server can is another question.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.to_owned();
        let builder = thread::Builder::new().stack_size(STACK_LEN);
        builder.spawn(move || Self::parsed(&text)).ok()?.join().ok()?
    }

    fn parsed(text: &str) -> Option<Self> {
        if text.len() > LEN_MAX {
            return None;
        }
        let ast = full_moon::parse_fallible(text, LuaVersion::lua51()).into_result().ok()?;
        let mut lua = Self { marked: text.to_owned(), ..Self::default() };
        let tokens = in_order(ast.nodes(), |token| token.to_string());
        lua.read_tokens(&tokens.iter().map(String::as_str).collect::<Vec<_>>());
        let mut conditions = Conditions::default();
        conditions.visit_ast(&ast);
        let all = tokens.concat();
        for (local, value) in conditions.locals {
            let is_unused = tokens.iter().filter(|token| **token == local).count() == 1;
            let mut slots = lua.reads.iter().copied();
            let slot = slots.find(|slot| is_unused && value == slot.to_string());
            if let Some(slot) = slot.filter(|_| all.matches(&value).count() == 1) {
                lua.reads.remove(&slot);
                let is_order = local.to_lowercase().contains("order");
                lua.order = lua.order.or(Some(slot).filter(|_| is_order));
            }
        }
        let mut marks = Vec::new();
        for (number, (from, to, line)) in conditions.parts.into_iter().enumerate() {
            lua.parts.push(Operand { line, text: text.get(from..to)?.to_owned() });
            // Where two begin or end at the same place, one is inside of the other.
            marks.push((from, 1, text.len() - to, format!("seckill_doctor({number},(")));
            marks.push((to, 0, text.len() - from, "))".to_owned()));
        }
        marks.sort();
        marks.iter().rev().for_each(|(at, _, _, mark)| lua.marked.insert_str(*at, mark));
        Some(lua)
    }

    fn read_tokens(&mut self, tokens: &[&str]) {
        for (at, token) in tokens.iter().enumerate() {
            self.numbers.extend(token.parse::<i64>().ok().filter(|n| *n < 1 << 53));
            let (before, after) = (&tokens[..at], &tokens[at + 1..]);
            let index = match after {
                ["[", index, "]", ..] => index.parse().ok(),
                _ => None,
            };
            let slot = match (*token, index) {
                _ if matches!(before, [.., "." | ":"]) => continue,
                ("KEYS", Some(number)) => Slot::Key(number),
                ("ARGV", Some(number)) => Slot::Arg(number),
                ("KEYS" | "ARGV", None) => {
                    // The number of them alone is no use of any.
                    self.computes |= !matches!(before, [.., "#"]);
                    continue;
                }
                _ => continue,
            };
            match slot {
                Slot::Key(number) => self.keys = number.max(self.keys),
                Slot::Arg(number) => self.args = number.max(self.args),
            }
            self.reads.insert(slot);
            if matches!(before, [.., "tonumber", "("]) {
                self.casts.insert(slot);
            }
        }
    }
}

/// Of each token of a part of the text. The parser has brackets before what is between them.
fn in_order<T>(node: &impl Node, of: impl Fn(&full_moon::tokenizer::Token) -> T) -> Vec<T> {
    let mut tokens: Vec<_> = node.tokens().map(|token| token.token()).collect();
    tokens.sort_by_key(|token| token.start_position().bytes());
    tokens.into_iter().map(of).collect()
}

#[derive(Default)]
struct Conditions {
    /// The parts of conditions: where each begins and ends, and its line.
    parts: BTreeSet<(usize, usize, usize)>,
    /// Locals, and what is put into each at first.
    locals: Vec<(String, String)>,
}

impl Conditions {
    fn add(&mut self, condition: &Expression) {
        match condition {
            Expression::Parentheses { expression, .. }
            | Expression::UnaryOperator { unop: UnOp::Not(_), expression } => self.add(expression),
            Expression::BinaryOperator { lhs, binop: BinOp::And(_) | BinOp::Or(_), rhs } => {
                self.add(lhs);
                self.add(rhs);
            }
            _ => {
                let tokens =
                    in_order(condition, |token| (token.start_position(), token.end_position()));
                let (Some((from, _)), Some((_, to))) = (tokens.first(), tokens.last()) else {
                    return;
                };
                let is_constant = tokens.len() == 1
                    && !matches!(condition, Expression::Var(_) | Expression::FunctionCall(_));
                if !is_constant {
                    self.parts.insert((from.bytes(), to.bytes(), from.line()));
                }
            }
        }
    }
}

impl Visitor for Conditions {
    fn visit_local_assignment(&mut self, node: &ast::LocalAssignment) {
        for (name, value) in node.names().iter().zip(node.expressions()) {
            let value = in_order(value, |token| token.to_string()).concat();
            self.locals.push((name.token().to_string(), value));
        }
    }

    fn visit_if(&mut self, node: &ast::If) {
        self.add(node.condition());
        node.else_if().into_iter().flatten().for_each(|other| self.add(other.condition()));
    }

    fn visit_while(&mut self, node: &ast::While) {
        self.add(node.condition());
    }

    fn visit_repeat(&mut self, node: &ast::Repeat) {
        self.add(node.until());
    }

    /// `a and b or c` outside of a statement decides, too.
    fn visit_expression(&mut self, node: &Expression) {
        if let Expression::BinaryOperator { lhs, binop: BinOp::And(_) | BinOp::Or(_), .. } = node {
            self.add(lhs);
        }
    }
}
