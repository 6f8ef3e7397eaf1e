//! The talk with a Toxiproxy server in a build that cannot: there is none.

use super::toxic::Toxic;
use base::BackendError;
use std::net::SocketAddr;

/// No Toxiproxy server.
#[derive(Clone)]
pub enum Api {}

impl Api {
    pub async fn connect(_: SocketAddr) -> Result<Self, BackendError> {
        super::is_built_in().and(Err(BackendError(super::NOT_BUILT_IN.into())))
    }

    pub async fn names(&self) -> Result<Vec<String>, BackendError> {
        match *self {}
    }

    pub async fn create(&self, _: &str, _: SocketAddr) -> Result<SocketAddr, BackendError> {
        match *self {}
    }

    pub async fn delete(&self, _: Vec<String>) -> Result<(), BackendError> {
        match *self {}
    }

    pub async fn set_toxics(&self, _: &str, _: Vec<Toxic>) -> Result<(), BackendError> {
        match *self {}
    }

    pub async fn check_toxics(&self, _: &str, _: Vec<Toxic>) -> Result<(), BackendError> {
        match *self {}
    }

    pub async fn set_enabled(&self, _: &str, _: bool) -> Result<(), BackendError> {
        match *self {}
    }
}
