//! A connection to a member, which carries one request at a time.

use crate::etcd::Refusal;
use base::CallError;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::{AbortHandle, spawn_local};

/// A connection. It is closed when it is dropped, in the middle of what it carries.
pub struct MemberConnection {
    sender: SendRequest<Full<Bytes>>,
    carrier: AbortHandle,
}

impl Drop for MemberConnection {
    fn drop(&mut self) {
        self.carrier.abort();
    }
}

/// The result of a step of a call. What came to nothing after its request had left may be done.
type ConnectionStep<T> = Result<T, CallError<Refusal>>;

impl MemberConnection {
    /// Opens a connection to a member, and calls `lost` when it ends by itself.
    pub async fn open(address: &str, lost: impl FnOnce() + 'static) -> Result<Self, String> {
        let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let opened = handshake(TokioIo::new(stream)).await;
        let (sender, connection) = opened.map_err(|error| error.to_string())?;
        let carrier = spawn_local(async move {
            // However it ends, the call that it carried gets the error.
            let _ = connection.await;
            lost();
        });
        Ok(Self { sender, carrier: carrier.abort_handle() })
    }

    /// Sends a request. Returns the status of the answer, and its body.
    pub async fn send(
        &mut self,
        path: &'static str,
        body: String,
    ) -> ConnectionStep<(u16, AnswerBody)> {
        let ready = self.sender.ready().await;
        ready.map_err(|error| CallError::Refused(Refusal::NoConnection(error.to_string())))?;
        let mut request = hyper::Request::post(path)
            .header("host", "etcd")
            .header("content-type", "application/json");
        if path == super::messages::WATCH {
            // The member is to end the watch when it has no leader.
            request = request.header("grpc-metadata-hasleader", "true");
        }
        let request = request.body(Full::new(Bytes::from(body)));
        let request = request.expect("its parts are well-formed");
        let answer = self.sender.send_request(request).await.map_err(in_doubt)?;
        let (head, body) = answer.into_parts();
        Ok((head.status.as_u16(), AnswerBody { body, read: Vec::new() }))
    }
}

/// The body of an answer, as it comes.
pub struct AnswerBody {
    body: Incoming,
    read: Vec<u8>,
}

impl AnswerBody {
    /// Reads more. Returns false at the end.
    async fn more(&mut self) -> ConnectionStep<bool> {
        match self.body.frame().await {
            None => Ok(false),
            Some(frame) => {
                let data = frame.map_err(in_doubt)?.into_data().unwrap_or_default();
                self.read.extend_from_slice(&data);
                Ok(true)
            }
        }
    }

    /// Reads all of it.
    pub async fn all(&mut self) -> ConnectionStep<String> {
        while self.more().await? {}
        Ok(String::from_utf8_lossy(&self.read).into_owned())
    }

    /// Reads the next line of a stream.
    pub async fn line(&mut self) -> ConnectionStep<String> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            if !self.more().await? {
                return Err(CallError::Unknown("the stream has ended".into()));
            }
        }
    }
}

fn in_doubt(error: hyper::Error) -> CallError<Refusal> {
    CallError::Unknown(error.to_string())
}
