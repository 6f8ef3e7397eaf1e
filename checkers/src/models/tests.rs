//! How models are named.

use super::{MODELS, NamedModel, NoModel};

fn parsed(text: &str) -> Result<String, NoModel> {
    text.parse().map(|model: NamedModel| model.to_string())
}

#[test]
fn every_model_is_found_by_its_name() {
    for spec in MODELS {
        let name = spec.bound.map_or(spec.name.to_owned(), |_| format!("{}:3", spec.name));
        assert_eq!(parsed(&name), Ok(name));
    }
}

#[test]
fn what_names_no_model_is_refused_with_the_remedy() {
    assert_eq!(parsed("mutexx"), Err(NoModel::Unknown("mutexx".into())));
    assert_eq!(parsed(""), Err(NoModel::Unknown("".into())));
    let bound = |text: &str| match parsed(text) {
        Err(NoModel::Bound(line)) => line,
        other => panic!("{text}: {other:?}"),
    };
    for text in ["semaphore", "semaphore:", "semaphore:0", "semaphore:-1", "semaphore:x"] {
        assert!(bound(text).contains("number of permits, from 1 on"), "{}", bound(text));
    }
    assert!(bound("mutex:2").contains("takes no number"));
}
