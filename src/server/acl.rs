//! The rules of the server's users.

use super::call::Call;
use super::ctx::Ctx;
use super::string::OwnedStr;

/// The first of `commands` that the rules of some user name, `+command` or `-command`.
///
/// Unloading a module while a rule names one of its commands leaves the rule pointing at freed
/// memory; Redis 7.0 dies at the next ACL LIST, Redis 8.10 at once.
pub(crate) fn rule_naming<'c>(ctx: Ctx<'_>, commands: &[&'c str]) -> Option<&'c str> {
    let list = OwnedStr::new(b"LIST");
    let users = Call::read_all(ctx, c"ACL", &[list.as_str()]).ok()?;
    users.texts().find_map(|user| {
        let rules = String::from_utf8_lossy(user).to_ascii_lowercase();
        commands.iter().copied().find(|command| names(&rules, command))
    })
}

fn names(rules: &str, command: &str) -> bool {
    rules.split([' ', '(', ')']).any(|rule| {
        let named = rule.strip_prefix('+').or_else(|| rule.strip_prefix('-'));
        named.is_some_and(|named| named.split('|').next() == Some(command))
    })
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_rule_names_a_command_whole() {
        let rules = "user ann on nopass ~* &* -@all +get (+lock.release ~x) +seckill.tryx";
        assert!(names(rules, "lock.release"));
        assert!(names(rules, "get"));
        assert!(!names(rules, "seckill.try"));
        assert!(!names(rules, "ann"));
    }
}
