//! Pages of the documentation as HTML, for who has no viewer of Markdown.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, html};

/// Makes a page of HTML of one of Markdown. Its headings have the names by which its links call
/// them.
pub fn make(title: &str, markdown: &str) -> String {
    let mut events: Vec<Event<'_>> = Parser::new_ext(markdown, Options::ENABLE_TABLES).collect();
    for place in 0..events.len() {
        let Some(Event::Text(text)) = events.get(place + 1) else { continue };
        let name = name(text);
        if let Event::Start(Tag::Heading { id, .. }) = &mut events[place] {
            *id = Some(CowStr::from(name));
        }
    }
    let mut page = String::new();
    html::push_html(&mut page, events.into_iter());
    reports::html::manual(title, &page)
}

/// The name of a heading, as viewers of Markdown make it of its text.
fn name(heading: &str) -> String {
    let kept = heading.chars().filter(|it| it.is_alphanumeric() || " -".contains(*it));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}
