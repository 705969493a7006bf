//! The pictures of the documentation match their sources: `scripts/pictures` draws them, and each
//! contains the text that it was drawn from.

use crate::{files, read};

const FOLDER: &str = "docs/images/src";

/// The end of a picture that was drawn from this source.
fn ending(source: &str, style: &str) -> String {
    format!("<metadata><![CDATA[\n{source}{style}]]></metadata></svg>\n")
}

#[test]
fn pictures_are_those_of_their_sources() {
    let style = read(&format!("{FOLDER}/style.iuml"));
    let pages: String = files(&["docs"], "md").into_iter().map(|(_, page)| page).collect();
    for (name, source) in files(&[FOLDER], "puml") {
        let stem = name.trim_start_matches(FOLDER).trim_end_matches(".puml");
        let picture = read(&format!("docs/images{stem}.svg"));
        let ending = ending(&source, &style);
        assert!(picture.ends_with(&ending), "{name} was changed: scripts/pictures");
        assert!(pages.contains(&format!("images{stem}.svg)")), "no page shows {name}");
    }
}

/// Black text must not be on a dark page's background, and no picture may need the network.
#[test]
fn pictures_are_white_behind_and_complete() {
    for (name, picture) in files(&["docs/images"], "svg") {
        let drawn = picture.split("<metadata>").next().unwrap_or_default();
        let white = ["#fff", "white", "#FFF"].iter().any(|white| drawn.contains(white));
        assert!(white || name.ends_with("seckill-top.svg"), "{name} has no background");
        let links = drawn.matches("href=").count() + drawn.matches("@import").count();
        assert_eq!(links, 0, "{name} loads something");
    }
}
