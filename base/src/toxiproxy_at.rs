//! A Toxiproxy server, as `--links` names it.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

const PREFIX: &str = "toxiproxy=http://";

/// The address of a Toxiproxy server on this machine: its proxies lead from clients here to links
/// here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToxiproxyAt(pub SocketAddr);

/// A text that names no such server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoToxiproxy {
    /// It is none of the kinds of links that there are.
    #[error("`{0}` names no links; write it as toxiproxy=http://127.0.0.1:8474")]
    Form(String),
    /// The server is somewhere else.
    #[error("Toxiproxy at {0} is on another machine: the links of a run begin and end on this one")]
    Elsewhere(SocketAddr),
}

impl FromStr for ToxiproxyAt {
    type Err = NoToxiproxy;

    fn from_str(text: &str) -> Result<Self, NoToxiproxy> {
        let address = || {
            let place = text.strip_prefix(PREFIX)?;
            let place = place.strip_suffix('/').unwrap_or(place);
            let address = match place.strip_prefix("localhost:") {
                Some(port) => (Ipv4Addr::LOCALHOST, port.parse().ok()?).into(),
                None => place.parse::<SocketAddr>().ok()?,
            };
            (address.port() > 0).then_some(address)
        };
        match address() {
            Some(address) if address.ip().is_loopback() => Ok(Self(address)),
            Some(address) => Err(NoToxiproxy::Elsewhere(address)),
            None => Err(NoToxiproxy::Form(text.into())),
        }
    }
}

/// Displays it as it is written.
impl fmt::Display for ToxiproxyAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn it_is_an_address_on_this_machine() {
        for text in ["toxiproxy=http://127.0.0.1:8474", "toxiproxy=http://[::1]:1"] {
            assert_eq!(text.parse::<ToxiproxyAt>().unwrap().to_string(), text);
        }
        let named = "toxiproxy=http://localhost:8474/".parse::<ToxiproxyAt>().unwrap();
        assert_eq!(named.to_string(), "toxiproxy=http://127.0.0.1:8474");
        for text in [
            "",
            "own",
            "toxiproxy",
            "toxiproxy=127.0.0.1:1",
            "toxiproxy=http://127.0.0.1",
            "toxiproxy=https://127.0.0.1:1",
            "toxiproxy=http://localhost:0",
            "toxiproxy=http://h:1",
        ] {
            assert_eq!(text.parse::<ToxiproxyAt>(), Err(NoToxiproxy::Form(text.into())), "{text}");
        }
        let far = "toxiproxy=http://10.0.0.1:8474".parse::<ToxiproxyAt>();
        expect!["Toxiproxy at 10.0.0.1:8474 is on another machine: the links of a run begin and end on this one"].assert_eq(&far.expect_err("refused").to_string());
    }
}
