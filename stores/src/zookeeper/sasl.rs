//! The login to a server that demands SASL: DIGEST-MD5 (RFC 2831), in two exchanges within the
//! session that a client has opened, before anything else that the client says
//! (`org.apache.zookeeper.server.ZooKeeperServer.processSasl`).

use super::store::USER;
use super::wire::number;
use md5::{Digest, Md5};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The longest frame that a server takes or sends (`jute.maxbuffer`). The four letters of a
/// question, read as a length, are more.
const LONGEST: usize = 0xf_ffff;
/// The kind of the requests (`org.apache.zookeeper.ZooDefs.OpCode`).
const SASL: i32 = 102;
/// The number of both requests: no client numbers one so.
const NUMBER: i32 = -102;
/// The service and the server to which a client logs in, by the names that all have
/// (`org.apache.zookeeper.server.ZooKeeperSaslServer`).
const URI: &str = "zookeeper/zk-sasl-md5";

/// Returns true if these bytes have all of the request with which a client begins, or are none.
pub fn has_request(sent: &[u8]) -> bool {
    let whole =
        |(length, rest): (i32, &[u8])| frame_length(length).is_none_or(|it| rest.len() >= it);
    number(sent).is_some_and(whole)
}

/// Passes on what a client has sent, its first request at least, and logs in where that was
/// granted. `answer` takes what the server has answered to the client.
///
/// # Errors
/// Fails when the connection does, or the server does not take the password.
pub async fn begin(
    password: &str,
    sent: &[u8],
    (read, write): (&mut (impl AsyncRead + Unpin), &mut (impl AsyncWrite + Unpin)),
    answer: &mut Vec<u8>,
) -> io::Result<()> {
    let length = number(sent).and_then(|(length, _)| frame_length(length));
    // A question of four letters opens no session.
    let Some(length) = length else { return write.write_all(sent).await };
    let (request, rest) = sent.split_at(4 + length);
    write.write_all(request).await?;
    let granted = read_frame(read).await?;
    answer.extend(framed(&granted));
    if is_refusal(&granted) {
        return Ok(());
    }
    let challenge = exchange(read, write, b"").await?;
    let proof = proof(password, &challenge).ok_or(io::ErrorKind::InvalidData)?;
    exchange(read, write, proof.as_bytes()).await?;
    write.write_all(rest).await
}

/// The length of a frame that begins with this number; `None` if none does.
fn frame_length(number: i32) -> Option<usize> {
    usize::try_from(number).ok().filter(|length| *length <= LONGEST)
}

fn framed(body: &[u8]) -> Vec<u8> {
    [&(body.len() as i32).to_be_bytes(), body].concat()
}

async fn read_frame(read: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let length = frame_length(read.read_i32().await?).ok_or(io::ErrorKind::InvalidData)?;
    let mut body = vec![0; length];
    read.read_exact(&mut body).await?;
    Ok(body)
}

/// Returns true if an answer to a request for a session grants none: its time-out, which follows
/// the version, is 0 then.
fn is_refusal(answer: &[u8]) -> bool {
    answer.get(4..).and_then(number).is_none_or(|(time_out, _)| time_out <= 0)
}

/// Sends a token, and returns the one that the server answers with.
async fn exchange(
    read: &mut (impl AsyncRead + Unpin),
    write: &mut (impl AsyncWrite + Unpin),
    token: &[u8],
) -> io::Result<Vec<u8>> {
    let head = [NUMBER, SASL].map(i32::to_be_bytes).concat();
    write.write_all(&framed(&[head, framed(token)].concat())).await?;
    let answer = read_frame(read).await?;
    // The number of the request, that of a transaction, and an error, if it is not 0.
    if answer.get(12..16) != Some(&[0; 4]) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    // The token comes after its length.
    Ok(answer.get(20..).unwrap_or_default().to_vec())
}

/// The answer to a challenge; `None` if it is none.
fn proof(password: &str, challenge: &[u8]) -> Option<String> {
    let challenge = std::str::from_utf8(challenge).ok()?;
    let quoted = |name: &str| {
        let (_, value) = challenge.split_once(&format!("{name}=\""))?;
        value.split_once('"').map(|(value, _)| value)
    };
    let (realm, nonce) = (quoted("realm")?, quoted("nonce")?);
    // A client draws a nonce of its own against servers that choose theirs to find out a password.
    // This server has made neither.
    let response = response((realm, password), nonce, nonce);
    Some(format!(
        "charset=utf-8,username=\"{USER}\",realm=\"{realm}\",nonce=\"{nonce}\",nc=00000001,\
         cnonce=\"{nonce}\",digest-uri=\"{URI}\",response={response},qop=auth"
    ))
}

fn response((realm, password): (&str, &str), nonce: &str, own_nonce: &str) -> String {
    let secret = Md5::digest(format!("{USER}:{realm}:{password}"));
    let session = hex(&[&secret[..], format!(":{nonce}:{own_nonce}").as_bytes()].concat());
    let request = hex(format!("AUTHENTICATE:{URI}").as_bytes());
    hex(format!("{session}:{nonce}:00000001:{own_nonce}:auth:{request}").as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    /// A challenge of a ZooKeeper 3.8.0 that knew this password, and took this answer.
    #[test]
    fn the_answer_to_a_challenge_is_the_one_that_a_server_took() {
        let challenge =
            b"realm=\"zk-sasl-md5\",nonce=\"th+1lPmRAXKZnr9h+7wO2CyWgFjbPhArxGqZU0Cw\",\
                          charset=utf-8,algorithm=md5-sess";
        let proof = proof("abcdef", challenge).expect("a challenge");
        expect![[r#"charset=utf-8,username="picklock",realm="zk-sasl-md5",nonce="th+1lPmRAXKZnr9h+7wO2CyWgFjbPhArxGqZU0Cw",nc=00000001,cnonce="th+1lPmRAXKZnr9h+7wO2CyWgFjbPhArxGqZU0Cw",digest-uri="zookeeper/zk-sasl-md5",response=521342efb0d32adf09384846bc363879,qop=auth"#]].assert_eq(&proof);
    }

    #[test]
    fn what_is_no_challenge_has_no_answer() {
        for text in [&b""[..], b"nonce=\"a\"", b"realm=\"a", b"\xff"] {
            assert_eq!(proof("abcdef", text), None, "{text:?}");
        }
    }

    #[test]
    fn a_first_request_is_waited_for_and_four_letters_are_not() {
        let request = framed(&[0; 45]);
        for length in 0..request.len() {
            assert!(!has_request(&request[..length]), "{length}");
        }
        assert!(has_request(&request));
        assert!(has_request(&[&request[..], b"more"].concat()));
        assert!(has_request(b"srvr"));
        assert!(has_request(&(-1_i32).to_be_bytes()));
    }
}
