//! The command that starts a program, and the addresses that it is given.

use std::path::PathBuf;

/// The command that starts a client, or a server of somebody else's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramCommand {
    /// The path of the program, or its name, to be found as a shell finds it.
    pub program: PathBuf,
    /// The arguments of the program. `{redis_url}` stands for the variable REDIS_URL.
    pub args: Vec<String>,
    /// The folder in which it runs. `None`: that of picklock.
    pub folder: Option<PathBuf>,
    /// The variables that its environment has beside those of picklock's own.
    pub variables: Vec<(String, String)>,
}

impl ProgramCommand {
    /// Makes a command in the folder and the environment of picklock.
    pub fn new(program: impl Into<PathBuf>, args: Vec<String>) -> Self {
        Self { program: program.into(), args, folder: None, variables: Vec::new() }
    }

    /// Returns the command of a program that finds these variables in its environment, and wherever
    /// an argument has the name of one, in small letters and braces.
    #[must_use]
    pub fn reaching(&self, variables: &[(&str, String)]) -> Self {
        let fill = |text: &String| {
            variables.iter().fold(text.clone(), |text, (name, value)| {
                text.replace(&format!("{{{}}}", name.to_lowercase()), value)
            })
        };
        let added = variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Self {
            args: self.args.iter().map(fill).collect(),
            variables: self.variables.iter().cloned().chain(added).collect(),
            ..self.clone()
        }
    }

    /// Returns the same with another variable.
    #[must_use]
    pub fn with_variable(mut self, (name, value): (&str, String)) -> Self {
        self.variables.push((name.into(), value));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_finds_its_servers_in_its_environment_and_its_arguments() {
        let args = ["--url={redis_url}", "{other}"].map(String::from).to_vec();
        let command = ProgramCommand::new("lock", args);
        let reaching = command.reaching(&[("REDIS_URL", "redis://127.0.0.1:1".into())]);
        assert_eq!(reaching.args, ["--url=redis://127.0.0.1:1", "{other}"]);
        assert_eq!(reaching.variables, [("REDIS_URL".into(), "redis://127.0.0.1:1".into())]);
    }
}
