//! The rules for well-formed paths. The client library checks before it sends, by the server's
//! rules, but for a name `.` or `..` at the end: those are left to the servers.

use super::{CreateMode, Refusal, Request};

/// Refuses a request whose path no server would take.
pub fn check(request: &Request) -> Result<(), Refusal> {
    let (path, root, bare) = match request {
        // A sequential node may consist of its number alone.
        Request::Create { path, mode, .. } => {
            (path, false, *mode == CreateMode::EphemeralSequential)
        }
        Request::Delete { path, .. } => (path, false, false),
        Request::Exists { path, .. }
        | Request::GetData { path, .. }
        | Request::GetChildren { path, .. }
        | Request::SetData { path, .. }
        | Request::Sync { path } => (path, true, false),
    };
    if path == "/" {
        return if root { Ok(()) } else { Err(Refusal::BadArguments) };
    }
    let Some(names) = path.strip_prefix('/') else { return Err(Refusal::BadArguments) };
    let names = if bare { names.strip_suffix('/').unwrap_or(names) } else { names };
    let (above, last) = names.rsplit_once('/').map_or((None, names), |(a, l)| (Some(a), l));
    let above = above.is_none_or(|above| above.split('/').all(|name| is_name(name) && !dots(name)));
    if above && is_name(last) { Ok(()) } else { Err(Refusal::BadArguments) }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_allowed)
}

/// Returns true for `.` and `..`, which are not names, since other trees use them for a node or its
/// parent.
pub fn dots(name: &str) -> bool {
    matches!(name, "." | "..")
}

/// Returns false for control characters, surrogates, private use and the specials.
fn is_allowed(c: char) -> bool {
    !matches!(u32::from(c), 0..=0x1F | 0x7F..=0x9F | 0xD800..=0xF8FF | 0xFFF0..=0xFFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(path: &str, mode: CreateMode) -> Result<(), Refusal> {
        check(&Request::Create { path: path.into(), data: Vec::new(), mode })
    }

    #[test]
    fn only_well_formed_paths_pass() {
        for path in ["/a", "/a/b-c_d", "/a/..b", "/ä", "/a/.."] {
            assert_eq!(create(path, CreateMode::Persistent), Ok(()), "{path}");
        }
        for path in ["", "/", "a", "/a/", "//a", "/a//b", "/a/./b", "/../a", "/a\u{7}"] {
            let refused = Err(Refusal::BadArguments);
            assert_eq!(create(path, CreateMode::Persistent), refused, "{path}");
        }
        assert_eq!(create("/a/", CreateMode::EphemeralSequential), Ok(()));
        assert_eq!(check(&Request::Exists { path: "/".into(), watch: None }), Ok(()));
    }
}
