//! The anomalies that a run shows, as a lab looks for them and reports them.

use base::{Anomaly, Run};
use checkers::Judgement;
use reports::terminal::Style;
use std::path::PathBuf;

use crate::named_anomaly::NamedAnomaly;
use crate::schedule::Shows;

/// The style of a story in the output of a test.
pub const PLAIN: Style = Style { colour: false, unicode: true, width: 100, piped: true };

/// Returns the anomaly that is wanted, if a run shows it; that of exclusion before others.
pub fn shown(judgement: &Judgement, wanted: Option<&NamedAnomaly>) -> Option<Shows> {
    let all = judgement.verdicts.iter().flat_map(|verdict| {
        verdict.anomalies.iter().map(move |anomaly| (&verdict.property, anomaly))
    });
    let is_wanted = |anomaly: &Anomaly| match wanted {
        None => true,
        Some(NamedAnomaly { name, cause }) => {
            anomaly.name == *name && cause.is_none_or(|it| anomaly.cause.contains(it))
        }
    };
    let wanted = all.filter(|(_, anomaly)| is_wanted(anomaly));
    let (property, anomaly) = wanted.min_by_key(|(property, _)| *property != "exclusion")?;
    Some(Shows {
        property: property.clone(),
        anomaly: anomaly.name.clone(),
        cause: anomaly.cause.only(),
    })
}

/// Returns the anomalies of a run, with their causes.
pub fn anomalies(judgement: &Judgement) -> Vec<String> {
    let anomalies = judgement.verdicts.iter().flat_map(|verdict| &verdict.anomalies);
    let named = |it: &Anomaly| NamedAnomaly { cause: it.cause.only(), name: it.name.clone() };
    anomalies.map(|anomaly| named(anomaly).to_string()).collect()
}

/// Draws a run, beside the program of the test, and returns the page.
pub fn draw(run: &Run, judgement: &Judgement) -> Option<PathBuf> {
    let Judgement { verdicts, outcome, .. } = judgement;
    let page = reports::html::page(run, verdicts, *outcome, &context());
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?.parent()?.join("picklock-reports");
    let file = folder.join(format!("{}.html", run.info.lock.name));
    std::fs::create_dir_all(&folder).ok()?;
    std::fs::write(&file, page).ok()?;
    Some(file)
}

/// Returns what a report says beside its run.
pub fn context() -> reports::Context {
    reports::Context { version: env!("CARGO_PKG_VERSION").into(), ..Default::default() }
}

/// Returns the test that runs on this thread, as `cargo test` takes it.
pub fn test() -> String {
    std::thread::current().name().unwrap_or_default().into()
}
