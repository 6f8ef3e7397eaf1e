//! Drop rules between servers: iptables in a server's own network namespace.

use super::server::DockerServer;
use base::{BackendError, Direction};
use std::net::Ipv4Addr;
use std::sync::Arc;
use testbed::StartedServer;

/// A rule by which one server drops what one other sends it.
pub struct DropRule {
    deaf: Arc<DockerServer>,
    silenced: Ipv4Addr,
}

impl DropRule {
    /// The rules that cut this pair in this direction.
    pub fn between(
        (a, b): (&Arc<DockerServer>, &Arc<DockerServer>),
        direction: Direction,
    ) -> Vec<Self> {
        let drop_rule = |deaf: &Arc<DockerServer>, silenced: &DockerServer| Self {
            deaf: deaf.clone(),
            silenced: silenced.peer_address(),
        };
        match direction {
            Direction::Both => vec![drop_rule(a, b), drop_rule(b, a)],
            Direction::Forward => vec![drop_rule(b, a)],
            Direction::Backward => vec![drop_rule(a, b)],
        }
    }

    /// Puts it up.
    pub async fn add(&self) -> Result<(), BackendError> {
        self.deaf.root_shell(&format!("iptables -w -A {}", self.rule())).await.map(drop)
    }

    /// Takes it down. Returns the number of packets that it dropped.
    pub async fn remove(self) -> Result<u64, BackendError> {
        if !self.deaf.is_up() {
            // Its network namespace is gone, and the rule with it.
            return Ok(0);
        }
        let seen = self.deaf.root_shell("iptables -w -nvxL INPUT").await?;
        // It is missing when the server was started again meanwhile.
        self.deaf.root_shell(&format!("iptables -w -D {} || true", self.rule())).await?;
        Ok(dropped(&seen, self.silenced))
    }

    fn rule(&self) -> String {
        format!("INPUT -s {} -j DROP", self.silenced)
    }
}

/// The packets from this address that were dropped, by the list that `iptables -nvxL` prints.
fn dropped(list: &str, silenced: Ipv4Addr) -> u64 {
    let address = silenced.to_string();
    let rows = list.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.contains(&"DROP") && row.contains(&address.as_str()))
        .filter_map(|row| row.first()?.parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packets_of_one_address_are_read_and_of_no_other() {
        let list = "\
Chain INPUT (policy ACCEPT 28 packets, 1904 bytes)
    pkts      bytes target     prot opt in     out     source               destination
      17     1020 DROP       0    --  *      *       172.18.0.3           0.0.0.0/0
       5      300 DROP       0    --  *      *       172.18.0.30          0.0.0.0/0
";
        let silenced = Ipv4Addr::new(172, 18, 0, 3);
        assert_eq!(dropped(list, silenced), 17);
        assert_eq!(dropped("", silenced), 0);
    }
}
