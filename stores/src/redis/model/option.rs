//! The names of options, in whatever case. Redis reads them as C does: up to the first zero.

/// A name as a number, its letters in capitals: options come with a client's every try, and numbers
/// are compared at once. Zero for one of more than eight letters, which no option has.
pub const fn name(option: &[u8]) -> u64 {
    let (mut name, mut place) = (0, 0);
    while place < option.len() && option[place] != 0 {
        if place == 8 {
            return 0;
        }
        name = name << 8 | option[place].to_ascii_uppercase() as u64;
        place += 1;
    }
    name
}

pub const NX: u64 = name(b"NX");
pub const XX: u64 = name(b"XX");
pub const GT: u64 = name(b"GT");
pub const LT: u64 = name(b"LT");
pub const GET: u64 = name(b"GET");
pub const EX: u64 = name(b"EX");
pub const PX: u64 = name(b"PX");
pub const EXAT: u64 = name(b"EXAT");
pub const PXAT: u64 = name(b"PXAT");
pub const KEEPTTL: u64 = name(b"KEEPTTL");
pub const PERSIST: u64 = name(b"PERSIST");
pub const SYNC: u64 = name(b"SYNC");
pub const ASYNC: u64 = name(b"ASYNC");
pub const LEFT: u64 = name(b"LEFT");
pub const RIGHT: u64 = name(b"RIGHT");
pub const CH: u64 = name(b"CH");
pub const INCR: u64 = name(b"INCR");
pub const REV: u64 = name(b"REV");
pub const LIMIT: u64 = name(b"LIMIT");
pub const BYSCORE: u64 = name(b"BYSCORE");
pub const BYLEX: u64 = name(b"BYLEX");
