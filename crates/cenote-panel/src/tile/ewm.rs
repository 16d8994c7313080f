//! Exponentially weighted mean and deviation: the operators that remember all rows.

use crate::op::Ewm;
use crate::wide::wide;

/// What one of them remembers of each symbol of a tile: see [`Ewm`].
#[derive(Debug)]
pub(crate) struct State {
    of: Ewm,
    alpha: f64,
    /// Missing until the first value comes.
    mean: Vec<f64>,
    var: Vec<f64>,
    /// Σ(weight²).
    weight: Vec<f64>,
}

impl Default for State {
    fn default() -> State {
        State::new(Ewm::Mean, f64::NAN, 0)
    }
}

impl State {
    /// With an α, of `width` symbols.
    pub(crate) fn new(of: Ewm, alpha: f64, width: usize) -> State {
        let spread = if of == Ewm::Mean { 0 } else { width };
        let (var, weight) = (vec![0.0; spread], vec![1.0; spread]);
        State { of, alpha, mean: vec![f64::NAN; width], var, weight }
    }

    /// Bytes.
    pub(crate) fn memory(&self) -> usize {
        (self.mean.capacity() + self.var.capacity() + self.weight.capacity()) * 8
    }

    /// The outputs at the next row.
    pub(crate) fn step(&mut self, x: &[f64], out: &mut [f64]) {
        match self.of {
            Ewm::Mean => self.mean(x, out),
            Ewm::Var => self.spread(x, out, |var| var),
            Ewm::Std => self.spread(x, out, f64::sqrt),
        }
    }

    fn mean(&mut self, x: &[f64], out: &mut [f64]) {
        let (alpha, means) = (self.alpha, &mut self.mean);
        wide(
            #[inline(always)]
            || {
                for ((out, &x), mean) in out.iter_mut().zip(x).zip(means) {
                    let next = if mean.is_nan() { x } else { *mean + alpha * (x - *mean) };
                    *out = if x.is_finite() { next } else { f64::NAN };
                    *mean = if x.is_finite() { next } else { *mean };
                }
            },
        );
    }

    #[inline(always)]
    fn spread(&mut self, x: &[f64], out: &mut [f64], of: impl Fn(f64) -> f64) {
        let (alpha, rest) = (self.alpha, 1.0 - self.alpha);
        let state = self.mean.iter_mut().zip(&mut self.var).zip(&mut self.weight);
        wide(
            #[inline(always)]
            || {
                for ((out, &x), ((mean, var), weight)) in out.iter_mut().zip(x).zip(state) {
                    let d = x - *mean;
                    let first = mean.is_nan();
                    let next = [
                        if first { x } else { *mean + alpha * d },
                        if first { 0.0 } else { rest * (*var + alpha * (d * d)) },
                        if first { 1.0 } else { rest * rest * *weight + alpha * alpha },
                    ];
                    // At the first value 0 ÷ 0.
                    let found = of(next[1] / (1.0 - next[2]));
                    let is = x.is_finite();
                    *out = if is { found } else { f64::NAN };
                    *mean = if is { next[0] } else { *mean };
                    *var = if is { next[1] } else { *var };
                    *weight = if is { next[2] } else { *weight };
                }
            },
        );
    }
}
