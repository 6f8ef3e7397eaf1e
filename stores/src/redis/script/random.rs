//! `math.random` of a script: the generator that Redis carries with it, which is `drand48`.

use std::cell::Cell;

const START: u64 = 0x1234_ABCD_330E;
const MASK: u64 = (1 << 48) - 1;

/// The state of the generator `drand48`. A real server keeps it from script to script; here every
/// script starts afresh, so that no run depends on what ran before it.
#[derive(Debug)]
pub struct Drand48(Cell<u64>);

impl Default for Drand48 {
    fn default() -> Self {
        Self(Cell::new(START))
    }
}

impl Drand48 {
    /// Back to the state of a server that has just started.
    pub fn reset(&self) {
        self.0.set(START);
    }

    /// Sets the state as `math.randomseed` does.
    pub fn seed(&self, seed: i32) {
        self.0.set(u64::from(seed as u32) << 16 | 0x330E);
    }

    /// A number in `[0, 1)`.
    pub fn unit(&self) -> f64 {
        let next = self.0.get().wrapping_mul(0x5_DEEC_E66D).wrapping_add(0xB) & MASK;
        self.0.set(next);
        let most = i64::from(i32::MAX);
        ((next >> 17) as i64 % most) as f64 / most as f64
    }
}
