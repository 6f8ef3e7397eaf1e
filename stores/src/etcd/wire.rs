//! Traffic of etcd's clients on the wire, as far as a link proxy has to know it. The gateway's is
//! HTTP, whose requests name what they are about; leases are kept alive, and watches kept, by
//! streams, whose answers are chunked results. That of the libraries is gRPC, in frames of HTTP/2
//! (RFC 9113, section 4): each side of a call ends its stream, and those of housekeeping stay open.

/// The texts that only requests and answers of the library's own housekeeping have.
const HOUSEKEEPING: &[&[u8]] = &[b"POST /v3/lease/keepalive ", b"POST /v3/watch ", b"{\"result\":"];

/// The texts of which a request or an answer has one.
const CALLS: &[&[u8]] = &[b"POST /v3/", b"{\"header\":", b"{\"error\":"];

/// The first words of a client that speaks HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The length of the largest frame that etcd and its clients agree on.
const LARGEST_FRAME: u32 = 1 << 14;

/// The types of frames that can end a stream, and the flag with which they do: data, headers.
const ENDING: [u8; 2] = [0, 1];
const END_STREAM: u8 = 1;

/// The highest type of a frame.
const LAST_TYPE: u8 = 9;

/// Returns true if these bytes carry a request or its answer.
pub fn carries_call(bytes: &[u8]) -> bool {
    let has = |texts: &[&[u8]]| {
        texts.iter().any(|text| bytes.windows(text.len()).any(|window| window == *text))
    };
    has(CALLS) && !has(HOUSEKEEPING) || ends_a_stream(bytes)
}

/// Returns true if one of these frames ends its stream. Bytes that are no frames have none.
fn ends_a_stream(bytes: &[u8]) -> bool {
    let mut frames = bytes.strip_prefix(PREFACE).unwrap_or(bytes);
    while let [a, b, c, kind, flags, _, _, _, _, rest @ ..] = frames {
        let length = u32::from_be_bytes([0, *a, *b, *c]);
        if length > LARGEST_FRAME || *kind > LAST_TYPE {
            return false;
        }
        if ENDING.contains(kind) && flags & END_STREAM != 0 {
            return true;
        }
        frames = rest.get(length as usize..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grpc_call_ends_its_stream() {
        let frame = |kind: u8, flags: u8, length: u8| {
            let head = [0, 0, length, kind, flags, 0, 0, 0, 1];
            [&head[..], &vec![7; length.into()]].concat()
        };
        let (settings, headers) = (frame(4, 1, 0), frame(1, 4, 20));
        let call = [&headers[..], &frame(0, 1, 30)].concat();
        assert!(carries_call(&call));
        assert!(carries_call(&[PREFACE, &settings, &call].concat()));
        assert!(carries_call(&[frame(0, 0, 30), frame(1, 5, 9)].concat()), "data and trailers");
        assert!(!carries_call(&[PREFACE, &settings].concat()));
        assert!(!carries_call(&[headers, frame(0, 0, 12)].concat()), "a lease is kept alive");
        assert!(!carries_call(&frame(6, 1, 8)), "a ping");
    }

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
