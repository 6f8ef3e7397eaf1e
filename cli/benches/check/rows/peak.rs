//! The most memory that the process has used since a moment, as Linux tells it.

use std::fs;

/// Measures from its start on.
pub struct Peak {
    before: u64,
}

impl Peak {
    /// `None` where the mark cannot be set back.
    pub fn start() -> Option<Self> {
        // 5 sets the mark back to what is used now: proc_pid_clear_refs(5).
        fs::write("/proc/self/clear_refs", "5").ok()?;
        Some(Self { before: high_water()? })
    }

    /// Bytes more than at the start.
    pub fn grown(&self) -> Option<u64> {
        Some(high_water()?.saturating_sub(self.before))
    }
}

fn high_water() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
