//! Matrices of 32-bit floats, row by row.

/// A dense matrix of 32-bit floats, row by row.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    columns: usize,
    values: Vec<f32>,
}

impl Matrix {
    /// Creates a matrix from its values; `None` if they do not fill its rows.
    pub(super) fn new(columns: usize, values: Vec<f32>) -> Option<Self> {
        (columns > 0 && values.len().is_multiple_of(columns)).then_some(Self { columns, values })
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn count(&self) -> usize {
        self.values.len() / self.columns
    }

    pub(super) fn rows(&self) -> impl DoubleEndedIterator<Item = &[f32]> {
        self.values.chunks_exact(self.columns)
    }

    pub(super) fn row(&self, at: usize) -> Option<&[f32]> {
        self.values.get(at * self.columns..(at + 1) * self.columns)
    }

    /// Returns this matrix times another one, plus a number for each column.
    pub(super) fn times(&self, weights: &Self, added: &[f32]) -> Self {
        let mut values = vec![0.0; self.count() * weights.columns];
        for row in values.chunks_exact_mut(weights.columns) {
            row.iter_mut().zip(added).for_each(|(value, added)| *value = *added);
        }
        // The weights are much larger than the input, so they are read only once.
        for (at, factors) in weights.rows().enumerate() {
            for (row, sums) in self.rows().zip(values.chunks_exact_mut(weights.columns)) {
                let number = row.get(at).copied().unwrap_or(0.0);
                if number != 0.0 {
                    sums.iter_mut().zip(factors).for_each(|(sum, factor)| *sum += number * factor);
                }
            }
        }
        Self { columns: weights.columns, values }
    }

    /// Adds another matrix of the same size.
    pub(super) fn plus(mut self, other: &Self) -> Self {
        self.values.iter_mut().zip(&other.values).for_each(|(value, other)| *value += other);
        self
    }

    /// Replaces negative numbers by 0.
    pub(super) fn without_negatives(mut self) -> Self {
        self.values.iter_mut().for_each(|value| *value = value.max(0.0));
        self
    }

    /// Shifts and scales each row to a mean of 0 and a variance of 1, then scales and shifts its
    /// columns.
    pub(super) fn normalized(mut self, scale: &[f32], shift: &[f32], least: f32) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "rows have about a thousand columns")]
        let count = self.columns as f32;
        for row in self.values.chunks_exact_mut(self.columns) {
            let mean = row.iter().sum::<f32>() / count;
            let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / count;
            let factor = (variance + least).sqrt().recip();
            for ((value, scale), shift) in row.iter_mut().zip(scale).zip(shift) {
                *value = (*value - mean) * factor * scale + shift;
            }
        }
        self
    }

    /// Returns `count` columns from `start` on.
    pub(super) fn part(&self, start: usize, count: usize) -> Self {
        let values = self.rows().flat_map(|row| row.iter().skip(start).take(count)).copied();
        Self { columns: count, values: values.collect() }
    }

    /// Returns, for each row, a window of `count` rows that starts `before` rows above it, joined
    /// into one row. Rows that do not exist are zeros.
    pub(super) fn windows(&self, before: usize, count: usize) -> Self {
        let mut values = Vec::with_capacity(self.values.len() * count);
        for at in 0..self.count() {
            for near in at..at + count {
                let row = near.checked_sub(before).and_then(|near| self.row(near));
                match row {
                    Some(row) => values.extend_from_slice(row),
                    None => values.resize(values.len() + self.columns, 0.0),
                }
            }
        }
        Self { columns: self.columns * count, values }
    }

    /// Returns matrices next to each other.
    pub(super) fn concat_columns(parts: &[Self]) -> Self {
        let rows = parts.first().map_or(0, Self::count);
        let row = |at: usize| parts.iter().filter_map(move |part| part.row(at)).flatten().copied();
        Self {
            columns: parts.iter().map(Self::columns).sum(),
            values: (0..rows).flat_map(row).collect(),
        }
    }

    /// Returns the sum of all rows, as a matrix with one row.
    pub(super) fn sum(&self) -> Self {
        let mut values = vec![0.0; self.columns];
        for row in self.rows() {
            values.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        Self { columns: self.columns, values }
    }

    pub(super) fn scaled(mut self, factor: f32) -> Self {
        self.values.iter_mut().for_each(|value| *value *= factor);
        self
    }

    pub(super) fn into_values(self) -> Vec<f32> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(columns: usize, values: &[f32]) -> Matrix {
        Matrix::new(columns, values.to_vec()).unwrap()
    }

    #[test]
    fn matrices_are_multiplied_and_combined() {
        let two = matrix(2, &[1.0, 2.0, 0.0, -1.0]);
        let product = two.times(&matrix(3, &[1.0, 0.0, 2.0, 0.5, 1.0, 0.0]), &[0.0, 1.0, 0.0]);
        assert_eq!(product.values, [2.0, 3.0, 2.0, -0.5, 0.0, 0.0]);
        assert_eq!(product.clone().without_negatives().part(0, 1).values, [2.0, 0.0]);
        assert_eq!(
            Matrix::concat_columns(&[two.clone(), two.part(1, 1)]).values,
            [1.0, 2.0, 2.0, 0.0, -1.0, -1.0]
        );
        assert_eq!(two.sum().scaled(2.0).values, [2.0, 2.0]);
        assert!(Matrix::new(3, vec![1.0; 4]).is_none());
    }

    #[test]
    fn windows_are_filled_with_zeros() {
        let column = matrix(1, &[1.0, 2.0, 3.0]);
        assert_eq!(column.windows(1, 3).values, [0.0, 1.0, 2.0, 1.0, 2.0, 3.0, 2.0, 3.0, 0.0]);
        assert_eq!(column.windows(0, 2).values, [1.0, 2.0, 2.0, 3.0, 3.0, 0.0]);
    }

    #[test]
    fn rows_are_normalized() {
        let rows = matrix(2, &[1.0, 3.0]).normalized(&[1.0, 2.0], &[0.0, 1.0], 0.0);
        assert_eq!(rows.values, [-1.0, 3.0]);
    }
}
