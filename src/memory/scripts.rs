//! The scripts that commands answer instead of Lua, as configured, and the texts by which they are
//! recognized.

use crate::server::{CommandFilter, MainThread};
use domain::scripts::{Replacement, ScriptTexts, Scripts};
use std::rc::Rc;

/// What is remembered of scripts. Nothing, and no filter, while none is configured.
#[derive(Default)]
pub(crate) struct ScriptCalls {
    configured: MainThread<Option<Box<ConfiguredScripts>>>,
    filter: MainThread<Option<CommandFilter>>,
}

struct ConfiguredScripts {
    /// The value of the setting.
    setting: Vec<u8>,
    scripts: Scripts,
    texts: ScriptTexts,
}

impl ScriptCalls {
    /// Whether the remembered scripts were made from this value of the setting.
    pub(crate) fn are_of(&self, setting: &[u8]) -> bool {
        self.configured.with(|configured| match configured {
            Some(configured) => configured.setting == setting,
            None => setting.is_empty(),
        })
    }

    /// Remembers these scripts instead of those before, and whatever filter `change` returns.
    pub(crate) fn configure(
        &self,
        setting: Vec<u8>,
        scripts: Scripts,
        change: impl FnOnce(Option<CommandFilter>) -> Option<CommandFilter>,
    ) {
        let configured = ConfiguredScripts { setting, scripts, texts: ScriptTexts::default() };
        let are_any = !configured.scripts.is_empty();
        self.configured.set(are_any.then(|| Box::new(configured)));
        self.filter.set(change(self.filter.take()));
    }

    /// The replacement of the script with this sha1.
    pub(crate) fn of_sha1(&self, sha1: &[u8]) -> Option<Rc<Replacement>> {
        self.configured.with(|configured| configured.as_ref()?.scripts.of_sha1(sha1))
    }

    /// The replacement of the script with this text.
    pub(crate) fn of_text(&self, text: &[u8]) -> Option<Rc<Replacement>> {
        self.configured.with(|configured| {
            let ConfiguredScripts { scripts, texts, .. } = configured.as_deref_mut()?;
            texts.find(scripts, text)
        })
    }
}
