//! The gateway's traffic on the wire, as far as a link proxy has to know it: HTTP, whose requests
//! name what they are about. Leases are kept alive, and watches kept, by streams, whose answers are
//! chunked results.

/// The texts that only requests and answers of the library's own housekeeping have.
const HOUSEKEEPING: &[&[u8]] = &[b"POST /v3/lease/keepalive ", b"POST /v3/watch ", b"{\"result\":"];

/// The texts of which a request or an answer has one.
const CALLS: &[&[u8]] = &[b"POST /v3/", b"{\"header\":", b"{\"error\":"];

/// Returns true if these bytes carry a request or its answer.
pub fn carries_call(bytes: &[u8]) -> bool {
    let has = |texts: &[&[u8]]| {
        texts.iter().any(|text| bytes.windows(text.len()).any(|window| window == *text))
    };
    has(CALLS) && !has(HOUSEKEEPING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_housekeeping_and_all_else_is_a_call() {
        let request = |path: &str| format!("POST {path} HTTP/1.1\r\nhost: etcd\r\n\r\n{{}}");
        let says = |text: &str| carries_call(text.as_bytes());
        assert!(says(&request("/v3/kv/txn")) && says(&request("/v3/lease/revoke")));
        assert!(!says(&request("/v3/lease/keepalive")) && !says(&request("/v3/watch")));
        assert!(says("HTTP/1.1 200 OK\r\n\r\n{\"header\":{\"revision\":\"2\"}}"));
        assert!(!says("8f\r\n{\"result\":{\"header\":{}}}\r\n") && !says("0\r\n\r\n"));
    }
}
