//! Appends a value that is made where it is to stand.
//!
//! `Vec::push` is given a value before there is room for it. A large one is then written part by
//! part, and read again at once, in larger parts, to be moved. A processor forwards what was just
//! stored only to a load that lies within one store; for any other it waits until the stores are in
//! its cache.

/// Makes room at the end of a list first, and a value there then.
#[inline]
pub fn emplace<T>(list: &mut Vec<T>, make: impl FnOnce() -> T) {
    list.extend(std::iter::once_with(make));
}
