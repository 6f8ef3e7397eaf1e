//! The plots of a build without the feature `plots`: there are none.

use crate::ReportSubject;

/// Plots nothing.
pub(super) const fn latency(_: &ReportSubject<'_>) -> Option<String> {
    None
}

/// Plots nothing.
pub(super) const fn rate(_: &ReportSubject<'_>) -> Option<String> {
    None
}
