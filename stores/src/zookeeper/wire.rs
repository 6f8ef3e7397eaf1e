//! ZooKeeper's protocol on the wire, as far as a link proxy has to know it: frames of a length and
//! a body, which begins with a number. Requests and their replies are numbered from 1; pings,
//! watches that fired and the opening of a session have other numbers, none of them positive
//! (`org.apache.zookeeper.ClientCnxn`).

/// Returns true if there is a request or a reply among the frames of these bytes, which begin with
/// a frame.
pub fn carries_call(mut bytes: &[u8]) -> bool {
    while let Some((length, rest)) = number(bytes) {
        if number(rest).is_some_and(|(number, _)| number > 0) {
            return true;
        }
        bytes = usize::try_from(length).ok().and_then(|length| rest.get(length..)).unwrap_or(&[]);
    }
    false
}

/// Takes the number at the beginning of these bytes.
pub fn number(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((i32::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(number: i32) -> Vec<u8> {
        [8, number, 11].into_iter().flat_map(i32::to_be_bytes).collect()
    }

    #[test]
    fn only_what_is_numbered_from_one_is_a_call() {
        for (number, call) in [(1, true), (i32::MAX, true), (0, false), (-1, false), (-2, false)] {
            assert_eq!(carries_call(&frame(number)), call, "{number}");
        }
    }

    #[test]
    fn a_call_is_found_behind_a_ping_and_in_front_of_one() {
        assert!(carries_call(&[frame(-2), frame(7)].concat()));
        assert!(carries_call(&[frame(7), frame(-2)].concat()));
        assert!(!carries_call(&[frame(-2), frame(-1)].concat()));
    }

    #[test]
    fn what_is_no_frame_is_no_call() {
        for bytes in [&[][..], &[0, 0, 0], &[0, 0, 0, 8, 0, 0], &[0xff; 8], b"ruok"] {
            assert!(!carries_call(bytes), "{bytes:?}");
        }
    }
}
