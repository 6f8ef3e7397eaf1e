//! What cuts servers off from each other: iptables in a server's own network namespace.

use super::server::Server;
use base::{BackendError, Direction};
use std::sync::Arc;

/// One server hears nothing of one other.
pub struct Wall {
    deaf: Arc<Server>,
    silenced: Arc<Server>,
    /// The rule, once it stands.
    rule: String,
}

impl Wall {
    /// The walls that cut this pair in this direction.
    pub fn between((a, b): (&Arc<Server>, &Arc<Server>), direction: Direction) -> Vec<Self> {
        let wall = |deaf: &Arc<Server>, silenced: &Arc<Server>| Self {
            deaf: deaf.clone(),
            silenced: silenced.clone(),
            rule: String::new(),
        };
        match direction {
            Direction::Both => vec![wall(a, b), wall(b, a)],
            Direction::Forward => vec![wall(b, a)],
            Direction::Backward => vec![wall(a, b)],
        }
    }

    /// Puts it up.
    pub async fn raise(&mut self) -> Result<(), BackendError> {
        let address = self.silenced.peer_address().await?;
        self.rule = format!("INPUT -s {address} -j DROP");
        self.deaf.shell(&format!("iptables -w -A {}", self.rule)).await.map(drop)
    }

    /// Takes it down. How many packets it has dropped.
    pub async fn fall(self) -> Result<u64, BackendError> {
        if !self.deaf.is_up() {
            // Its network namespace is gone, and the rule with it.
            return Ok(0);
        }
        let seen = self.deaf.shell("iptables -w -nvxL INPUT").await?;
        // It is missing when the server was started again meanwhile.
        self.deaf.shell(&format!("iptables -w -D {} || true", self.rule)).await?;
        Ok(dropped(&seen, &self.rule))
    }
}

/// The packets that the rule has dropped, by the list that `iptables -nvxL` prints.
fn dropped(list: &str, rule: &str) -> u64 {
    let address = rule.split(' ').nth(2).unwrap_or_default();
    let rows = list.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.contains(&"DROP") && row.contains(&address))
        .filter_map(|row| row.first()?.parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packets_of_the_rule_are_read_and_of_no_other() {
        let list = "\
Chain INPUT (policy ACCEPT 28 packets, 1904 bytes)
    pkts      bytes target     prot opt in     out     source               destination
      17     1020 DROP       0    --  *      *       172.18.0.3           0.0.0.0/0
       5      300 DROP       0    --  *      *       172.18.0.30          0.0.0.0/0
";
        assert_eq!(dropped(list, "INPUT -s 172.18.0.3 -j DROP"), 17);
        assert_eq!(dropped("", "INPUT -s 172.18.0.3 -j DROP"), 0);
    }
}
