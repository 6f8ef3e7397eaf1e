//! The talk with a Toxiproxy server in a build that cannot talk to one: each question is refused.

use super::is_built_in;
use super::toxic::Toxic;
use base::BackendError;
use std::net::SocketAddr;

/// A Toxiproxy server that nobody can ask.
#[derive(Clone)]
pub struct Api;

impl Api {
    pub async fn connect(_: SocketAddr) -> Result<Self, BackendError> {
        is_built_in().map(|()| Self)
    }

    pub async fn names(&self) -> Result<Vec<String>, BackendError> {
        is_built_in().map(|()| Vec::new())
    }

    pub async fn create(&self, _: &str, to: SocketAddr) -> Result<SocketAddr, BackendError> {
        is_built_in().map(|()| to)
    }

    pub async fn delete(&self, _: Vec<String>) -> Result<(), BackendError> {
        is_built_in()
    }

    pub async fn set_toxics(&self, _: &str, _: Vec<Toxic>) -> Result<(), BackendError> {
        is_built_in()
    }

    pub async fn check_toxics(&self, _: &str, _: Vec<Toxic>) -> Result<(), BackendError> {
        is_built_in()
    }

    pub async fn set_enabled(&self, _: &str, _: bool) -> Result<(), BackendError> {
        is_built_in()
    }
}
