//! SECKILL.AUDIT in steps, as a client runs it.

use crate::harness::{Client, Server, text};
use crate::observe::{integer, words};
use crate::sales::pairs;
use redis::Value;

/// The reply of one step.
pub struct Step {
    pub cursor: String,
    fields: Vec<(String, Value)>,
}

impl Step {
    pub fn number(&self, name: &str) -> i64 {
        integer(self.field(name))
    }

    pub fn differences(&self) -> Vec<String> {
        words(self.field("differences").clone())
    }

    fn field(&self, name: &str) -> &Value {
        let found = self.fields.iter().find(|(field, _)| field == name);
        &found.unwrap_or_else(|| panic!("no {name}: {:?}", self.fields)).1
    }
}

impl Server {
    /// The last step of an audit.
    pub fn audited(&self, voucher: &str) -> Step {
        self.own().audit_in_steps(voucher, |_, _| {}).0
    }
}

impl Client {
    pub fn audit_step(&mut self, voucher: &str, cursor: &str) -> Step {
        match self.run(&format!("SECKILL.AUDIT {voucher} CURSOR {cursor}")) {
            Value::Array(mut parts) if parts.len() == 2 => {
                let fields = pairs(parts.pop().expect("two"));
                Step { cursor: text(&parts[0]), fields }
            }
            other => panic!("{voucher} from {cursor}: {other:?}"),
        }
    }

    /// Runs all steps, with `between` after each. Returns the last step and the number of steps.
    pub fn audit_in_steps(
        &mut self,
        voucher: &str,
        mut between: impl FnMut(&mut Self, &Step),
    ) -> (Step, usize) {
        let mut step = self.audit_step(voucher, "0");
        for number in 1.. {
            if step.cursor == "0" {
                return (step, number);
            }
            between(self, &step);
            step = self.audit_step(voucher, &step.cursor);
        }
        unreachable!("more steps than numbers")
    }
}
