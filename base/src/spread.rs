//! Distributions of durations: of the delays of a link, of pauses to think, of the lengths of
//! holds.

use crate::Rng;
use std::time::Duration;

/// A distribution of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Always the same.
    Exactly(Duration),
    /// Uniform, from `least` up to `most`.
    Uniform {
        /// The shortest duration.
        least: Duration,
        /// The bound just above the longest duration.
        most: Duration,
    },
    /// Exponential: at least `least`, on average `mean` more, and at most ten times `mean` more.
    Exponential {
        /// The shortest duration.
        least: Duration,
        /// The mean of the time that is added to it.
        mean: Duration,
    },
    /// At least `least`, and a heavy tail: half of them less than `scale` more, one in a hundred
    /// twenty times `scale` more, and none longer than `most`. (Lomax's distribution with a shape
    /// of 1.5, cut off.)
    Heavy {
        /// The shortest duration.
        least: Duration,
        /// The scale of the time that is added to it.
        scale: Duration,
        /// The longest duration.
        most: Duration,
    },
    /// Three in four are exponential around `mean`; the others reach from a third of `most` up to
    /// it. None is longer.
    Tailed {
        /// The mean of the short durations.
        mean: Duration,
        /// The longest duration.
        most: Duration,
    },
}

impl Spread {
    /// A bound that no drawn duration exceeds.
    pub fn bound(self) -> Duration {
        match self {
            Self::Exactly(most)
            | Self::Uniform { most, .. }
            | Self::Heavy { most, .. }
            | Self::Tailed { most, .. } => most,
            Self::Exponential { least, mean } => least + mean * 10,
        }
    }

    /// Draws one duration, in nanoseconds.
    #[inline]
    pub fn nanos(self, rng: &mut Rng) -> u64 {
        match self {
            // What most links have, without a `Duration` on the way.
            Self::Uniform { least, most } => rng.nanos_between(least, most),
            other => other.draw(rng).as_nanos() as u64,
        }
    }

    /// Draws one duration.
    pub fn draw(self, rng: &mut Rng) -> Duration {
        match self {
            Self::Exactly(time) => time,
            Self::Uniform { least, most } => rng.between(least, most),
            Self::Exponential { least, mean } => least + rng.exponential(mean),
            Self::Heavy { least, scale, most } => {
                let tail = (1.0 - rng.unit()).powf(-1.0 / 1.5) - 1.0;
                (least + scale.mul_f64(tail.min(1e6))).min(most)
            }
            Self::Tailed { mean, most } => {
                if rng.chance(0.25) {
                    rng.between(most / 3, most)
                } else {
                    rng.exponential(mean).min(most)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(spread: Spread) -> Vec<Duration> {
        let mut rng = Rng::new(1);
        let mut same = rng.clone();
        let draw = |_| {
            let drawn = spread.draw(&mut rng);
            assert_eq!(spread.nanos(&mut same), drawn.as_nanos() as u64);
            drawn
        };
        (0..1_000).map(draw).collect()
    }

    #[test]
    fn each_spread_keeps_its_bounds_and_uses_them() {
        let ms = Duration::from_millis;
        let uniform = draws(Spread::Uniform { least: ms(5), most: ms(10) });
        assert!(uniform.iter().all(|d| (ms(5)..ms(10)).contains(d)));
        assert!(uniform.iter().any(|d| *d < ms(6)) && uniform.iter().any(|d| *d > ms(9)));

        assert!(draws(Spread::Exactly(ms(5))).iter().all(|d| *d == ms(5)));

        let exponential = draws(Spread::Exponential { least: ms(5), mean: ms(1) });
        assert!(exponential.iter().all(|d| (ms(5)..=ms(15)).contains(d)));
        let mean = exponential.iter().sum::<Duration>() / 1_000;
        assert!((ms(5)..ms(7)).contains(&mean), "{mean:?}");

        let heavy = draws(Spread::Heavy { least: ms(5), scale: ms(1), most: ms(80) });
        assert!(heavy.iter().all(|d| (ms(5)..=ms(80)).contains(d)));
        assert!(heavy.iter().filter(|d| **d < ms(6)).count() > 500);
        assert!((5..30).contains(&heavy.iter().filter(|d| **d > ms(25)).count()));
        assert!(heavy.iter().any(|d| *d > ms(60)));

        let tailed = draws(Spread::Tailed { mean: ms(20), most: ms(600) });
        assert!(tailed.iter().all(|d| *d <= ms(600)));
        assert!(tailed.iter().filter(|d| **d > ms(200)).count() > 150);
        assert!(tailed.iter().filter(|d| **d < ms(60)).count() > 200);
    }
}
