//! The findings about a script, as JSON for programs.

use seckill_tools::sanitize::is_hidden;
use serde_json::{Value, json};

use crate::conf::{self, Block, conf_line};
use crate::cure::{Cure, Way};
use crate::finding::{Finding, Weight};
use crate::prove::{CALLS, Row};
use crate::report::Examined;

/// JSON in one line, with escapes for the characters that no reader sees.
pub fn printed(value: &Value) -> String {
    let mut line = String::new();
    for letter in value.to_string().chars() {
        if is_hidden(letter) {
            let units = letter.encode_utf16(&mut [0; 2]).to_vec();
            line.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            line.push(letter);
        }
    }
    line
}

pub fn of_block(block: &Block) -> Value {
    json!({ "conf": block.lines, "notes": block.notes })
}

impl Examined {
    /// A line of Lua that replaces the script.
    fn replacement(&self) -> Option<&str> {
        // One without settings can be used anywhere.
        let alone = self.cures.iter().filter(|cure| cure.settings.is_empty());
        alone.chain(&self.cures).find_map(|cure| match &cure.way {
            Way::Lua(lua) => Some(lua.as_str()),
            Way::Native(_) => None,
        })
    }

    pub fn json(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "name": row.name, "script": row.yours, "module": row.module,
                "result": row.sameness.word(), "differences": row.differences,
            })
        };
        let finding = |finding: &Finding| {
            let weight = if finding.weight == Weight::Broken { "broken" } else { "weak" };
            let grade = finding.grade.word();
            json!({ "weight": weight, "grade": grade, "code": finding.code, "text": finding.text })
        };
        let cure = |cure: &Cure| {
            let conf = conf::settings(cure, self.scripts_line(cure));
            let conf: Vec<String> =
                conf.iter().map(|(name, value)| conf_line(name, value)).collect();
            let settings: serde_json::Map<String, Value> =
                cure.settings.iter().map(|(name, value)| ((*name).into(), json!(value))).collect();
            let lua = match &cure.way {
                Way::Lua(lua) => Some(lua),
                Way::Native(_) => None,
            };
            json!({
                "scripts": self.scripts_line(cure), "lua": lua, "settings": settings,
                "conf": conf, "notes": cure.notes, "calls": CALLS,
            })
        };
        let understood: Vec<Value> =
            self.understood.iter().map(|(name, value)| json!([name, value])).collect();
        let cluster = self
            .cluster
            .as_ref()
            .map(|cluster| json!({ "script": cluster.script, "line": cluster.line }));
        json!({
            "file": self.file,
            "what": self.what,
            "verdict": self.verdict.word(),
            "understood": understood,
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "scenarios": self.rows.iter().map(row).collect::<Vec<_>>(),
            "obstacles": self.obstacles,
            "cures": self.cures.iter().map(cure).collect::<Vec<_>>(),
            "replacement": self.replacement(),
            "command": self.direct,
            "cluster": cluster,
            "saw": self.saw,
        })
    }
}
