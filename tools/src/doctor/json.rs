//! The findings about a script, as JSON for programs.

use seckill_tools::sanitize::is_hidden;
use serde_json::{Value, json};

use crate::conf::conf_line;
use crate::cure::Cure;
use crate::prove::CALLS;
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

impl Examined {
    /// A line of Lua that replaces the script.
    fn replacement(&self) -> Option<&str> {
        // One without settings can be used anywhere.
        let alone = self.cures.iter().filter(|cure| cure.settings.is_empty());
        alone.chain(&self.cures).find_map(|cure| cure.way.lua())
    }

    pub fn json(&self) -> Value {
        let cure = |cure: &Cure| {
            let conf = cure.settings_with(self.scripts_line(cure)).into_iter();
            let conf: Vec<String> = conf.map(|(name, value)| conf_line(name, &value)).collect();
            let settings: serde_json::Map<String, Value> =
                cure.settings.iter().map(|(name, value)| ((*name).into(), json!(value))).collect();
            json!({
                "scripts": self.scripts_line(cure), "lua": cure.way.lua(), "settings": settings,
                "conf": conf, "notes": cure.notes, "calls": CALLS,
            })
        };
        let mut json = json!(self);
        json["cures"] = self.cures.iter().map(cure).collect();
        json["replacement"] = json!(self.replacement());
        json
    }
}
