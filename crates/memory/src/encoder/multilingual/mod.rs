//! The multilingual Universal Sentence Encoder (version 3): pieces of words, convolutions over two,
//! three and five of them, the sum over the text, and two dense layers.

mod matrix;
mod npz;
mod pieces;
mod protobuf;

use std::collections::BTreeMap;

use matrix::Matrix;
use npz::Array;
use pieces::Pieces;

use super::ModelError;
use crate::vector::{EncodeError, Encoder, TextKind, to_unit};
use crate::weights::Weights;

const EXPECTED: &str = "the multilingual Universal Sentence Encoder (weights.npz)";

/// Tokens that are read of a message and of a question.
const MESSAGE: usize = 112;
const QUESTION: usize = 200;

/// The table of pieces is stored in parts; a piece is in the part of its number modulo this.
const PARTS: usize = 17;
/// The dimension of a piece's vector.
const SIZE: usize = 512;
/// The number of outputs of a convolution for each piece.
const WIDTH: usize = 256;
/// For each convolution, the pieces it sees, and how many of them are before the current one.
const CONVOLUTIONS: [(usize, usize); 3] = [(2, 0), (3, 1), (5, 2)];
/// Keeps a division by the variance of equal numbers finite.
const LEAST_VARIANCE: f32 = 1e-12;

/// A sentence encoder for sixteen languages, Chinese, Japanese and Korean among them.
pub struct MultilingualVectors {
    name: String,
    pieces: Pieces,
    /// The parts of the table. Each number of a vector is one byte.
    table: Vec<Vec<u8>>,
    /// What a byte of each part stands for: its factor and what is added.
    scales: Vec<(f32, f32)>,
    projection: Dense,
    projection_norm: Norm,
    convolutions: Vec<Convolution>,
    norm: Norm,
    text: Dense,
    hidden: [Matrix; 2],
    output: [Matrix; 2],
    /// The shortcuts past the hidden layers.
    shortcuts: [Matrix; 2],
}

/// A dense layer.
struct Dense {
    weights: Matrix,
    added: Vec<f32>,
}

/// The scale and the shift of normalized columns.
struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
}

struct Convolution {
    pieces: usize,
    before: usize,
    layers: [Dense; 2],
}

impl MultilingualVectors {
    /// Loads the weights and the tokenizer (`sp.model`). The name is stored with the vectors.
    ///
    /// # Errors
    ///
    /// If one of them is not what it should be.
    pub fn load(name: &str, weights: &[u8], tokenizer: &[u8]) -> Result<Self, ModelError> {
        let pieces = Pieces::read(tokenizer)?;
        let arrays =
            npz::read(weights).ok_or_else(|| ModelError::new(EXPECTED, "it is not an archive"))?;
        let mut reader = Reader { arrays };
        let table =
            (1..=PARTS).map(|part| reader.bytes(&format!("q{part}"))).collect::<Result<_, _>>()?;
        let scales = reader.floats("scale")?.into_iter().zip(reader.floats("lo")?).collect();
        Ok(Self {
            name: name.to_owned(),
            pieces,
            table,
            scales,
            projection: reader.projection()?,
            projection_norm: reader.projection_norm()?,
            convolutions: CONVOLUTIONS
                .iter()
                .map(|&(pieces, before)| reader.convolution(pieces, before))
                .collect::<Result<_, _>>()?,
            norm: Norm { scale: reader.floats("ln_g")?, shift: reader.floats("ln_b")? },
            text: reader.dense("cnn_W", "cnn_b")?,
            hidden: [reader.matrix("d0", 320)?, reader.matrix("d2", SIZE)?],
            output: [reader.matrix("d1", 320)?, reader.matrix("d3", SIZE)?],
            shortcuts: [reader.matrix("p1", 320)?, reader.matrix("p3", SIZE)?],
        })
    }

    fn vector(&self, tokens: &[u32]) -> Vec<f32> {
        let values = tokens.iter().flat_map(|&token| self.piece(token)).collect();
        let Some(pieces) = Matrix::new(SIZE, values) else { return Vec::new() };
        let product = pieces.times(&self.projection.weights, &self.projection.added);
        let Norm { scale, shift } = &self.projection_norm;
        let projected = product.normalized(scale, shift, LEAST_VARIANCE);
        let mut features = vec![pieces];
        for (at, convolution) in self.convolutions.iter().enumerate() {
            features.push(convolution.run(projected.part(at * WIDTH, WIDTH)));
        }
        let joined = Matrix::concat_columns(&features).normalized(
            &self.norm.scale,
            &self.norm.shift,
            LEAST_VARIANCE,
        );
        #[expect(clippy::cast_precision_loss, reason = "a text has at most 200 tokens")]
        let count = tokens.len() as f32;
        // The sum of the projected pieces is the projection of their sum.
        let added: Vec<f32> = self.text.added.iter().map(|added| added * count).collect();
        let text = joined.sum().times(&self.text.weights, &added).scaled(count.sqrt().recip());
        self.dense(&text)
    }

    /// Runs the dense layers on the vector of a text.
    fn dense(&self, text: &Matrix) -> Vec<f32> {
        let [hidden_1, hidden_2] = &self.hidden;
        let [output_1, output_2] = &self.output;
        let [shortcut_1, shortcut_2] = &self.shortcuts;
        let layer = |input: &Matrix, hidden: &Matrix, output: &Matrix, shortcut: &Matrix| {
            let inside = input.times(hidden, &[]).without_negatives();
            input.times(shortcut, &[]).plus(&inside.times(output, &[]))
        };
        let first = layer(text, hidden_1, output_1, shortcut_1).without_negatives();
        let second = layer(&first, hidden_2, output_2, shortcut_2);
        let mut vector: Vec<f32> = second.into_values().into_iter().map(f32::tanh).collect();
        to_unit(&mut vector);
        vector
    }

    /// Returns the vector of a piece; zeros if the table does not have it.
    fn piece(&self, token: u32) -> Vec<f32> {
        let (part, row) = (token as usize % PARTS, token as usize / PARTS);
        let (scale, low) = self.scales.get(part).copied().unwrap_or_default();
        let bytes = self.table.get(part).and_then(|table| table.get(row * SIZE..(row + 1) * SIZE));
        match bytes {
            Some(bytes) => bytes.iter().map(|&byte| f32::from(byte) * scale + low).collect(),
            None => vec![0.0; SIZE],
        }
    }
}

impl Convolution {
    /// Runs both layers, each with a shortcut past it.
    fn run(&self, mut input: Matrix) -> Matrix {
        for layer in &self.layers {
            let seen = input.windows(self.before, self.pieces);
            input = seen.times(&layer.weights, &layer.added).without_negatives().plus(&input);
        }
        input
    }
}

/// Takes arrays out of an archive.
struct Reader {
    arrays: BTreeMap<String, Array>,
}

impl Reader {
    fn bytes(&mut self, name: &str) -> Result<Vec<u8>, ModelError> {
        self.arrays.remove(name).and_then(Array::into_bytes).ok_or_else(|| missing(name))
    }

    fn floats(&self, name: &str) -> Result<Vec<f32>, ModelError> {
        self.arrays.get(name).and_then(Array::floats).ok_or_else(|| missing(name))
    }

    fn matrix(&self, name: &str, columns: usize) -> Result<Matrix, ModelError> {
        Matrix::new(columns, self.floats(name)?).ok_or_else(|| missing(name))
    }

    fn dense(&self, weights: &str, added: &str) -> Result<Dense, ModelError> {
        let added = self.floats(added)?;
        Ok(Dense { weights: self.matrix(weights, added.len())?, added })
    }

    /// Returns the projections for all convolutions as one layer.
    fn projection(&self) -> Result<Dense, ModelError> {
        let mut weights = Vec::new();
        let mut added = Vec::new();
        for (pieces, _) in CONVOLUTIONS {
            let layer = self.dense(&format!("proj{pieces}"), &format!("proj_b{pieces}"))?;
            weights.push(layer.weights);
            added.extend(layer.added);
        }
        Ok(Dense { weights: Matrix::concat_columns(&weights), added })
    }

    fn projection_norm(&self) -> Result<Norm, ModelError> {
        let mut norm = Norm { scale: Vec::new(), shift: Vec::new() };
        for (pieces, _) in CONVOLUTIONS {
            norm.scale.extend(self.floats(&format!("ln_g{pieces}"))?);
            norm.shift.extend(self.floats(&format!("ln_b{pieces}"))?);
        }
        Ok(norm)
    }

    fn convolution(&self, pieces: usize, before: usize) -> Result<Convolution, ModelError> {
        let layers = [
            self.dense(&format!("w1_{pieces}"), &format!("b1_{pieces}"))?,
            self.dense(&format!("w2_{pieces}"), &format!("b2_{pieces}"))?,
        ];
        Ok(Convolution { pieces, before, layers })
    }
}

fn missing(name: &str) -> ModelError {
    ModelError::new(EXPECTED, format!("the array {name} is missing or has another form"))
}

impl Encoder for MultilingualVectors {
    fn name(&self) -> &str {
        &self.name
    }

    fn weights(&self) -> Weights {
        Weights::SENTENCE_VECTORS
    }

    fn understands(&self, _: &str) -> bool {
        true
    }

    fn encode(&self, texts: &[&str], kind: TextKind) -> Result<Vec<Vec<f32>>, EncodeError> {
        let limit = match kind {
            TextKind::Message => MESSAGE,
            TextKind::Question => QUESTION,
        };
        Ok(texts.iter().map(|text| self.vector(&self.pieces.tokens(text, limit))).collect())
    }
}

impl std::fmt::Debug for MultilingualVectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MultilingualVectors").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use npz::tests::{archive, encoded};

    /// Returns made-up values of an array, which depend on its name.
    fn values(name: &str, count: usize) -> Vec<f32> {
        let seed: usize = name.bytes().map(usize::from).sum();
        let base = if name.starts_with("ln_g") { 1.0 } else { 0.0 };
        let value = |at: usize| f32::from(i16::try_from((at * 31 + seed * 17) % 101).unwrap() - 50);
        (0..count).map(|at| base + value(at) / 1_000.0).collect()
    }

    /// Returns an archive with made-up weights and one piece in each part of the table.
    fn weights() -> Vec<u8> {
        let floats = |values: Vec<f32>| -> Vec<u8> {
            encoded("<f4", &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
        };
        let mut sizes: Vec<(String, usize)> = [
            ("ln_g", 1_280),
            ("ln_b", 1_280),
            ("cnn_W", 1_280 * 512),
            ("cnn_b", 512),
            ("d0", 512 * 320),
            ("d1", 320 * 320),
            ("p1", 512 * 320),
            ("d2", 320 * 512),
            ("d3", 512 * 512),
            ("p3", 320 * 512),
        ]
        .map(|(name, size)| (name.to_owned(), size))
        .into();
        for pieces in [2, 3, 5] {
            sizes.push((format!("proj{pieces}"), 512 * 256));
            sizes.extend([1, 2].map(|layer| (format!("w{layer}_{pieces}"), pieces * 256 * 256)));
            let names = ["proj_b", "ln_g", "ln_b", "b1_", "b2_"];
            sizes.extend(names.map(|name| (format!("{name}{pieces}"), 256)));
        }
        let mut arrays: Vec<(String, Vec<u8>)> = Vec::new();
        for part in 0..PARTS {
            let byte = |at: usize| u8::try_from((at * 37 + part * 11) % 256).unwrap();
            let bytes: Vec<u8> = (0..SIZE).map(byte).collect();
            arrays.push((format!("q{}", part + 1), encoded("|u1", &bytes)));
        }
        arrays.push(("scale".to_owned(), floats(vec![0.01; PARTS])));
        arrays.push(("lo".to_owned(), floats(vec![-0.5; PARTS])));
        arrays.extend(sizes.into_iter().map(|(name, size)| {
            let array = floats(values(&name, size));
            (name, array)
        }));
        let entries: Vec<(&str, Vec<u8>)> =
            arrays.iter().map(|(name, array)| (name.as_str(), array.clone())).collect();
        archive(&entries)
    }

    /// The expected numbers come from a separate program that follows the definition of the model.
    #[test]
    fn a_text_runs_through_all_layers() {
        let tokenizer = pieces::tests::model(&[("▁a", -1.0), ("▁b", -1.0)]);
        let encoder = MultilingualVectors::load("test", &weights(), &tokenizer).unwrap();
        let vectors = encoder.encode(&["a b", "b a"], TextKind::Message).unwrap();
        let first = [-0.02908, -0.03969, 0.02014, 0.05337, -0.04387, 0.03934, 0.04211, -0.06666];
        assert_eq!(vectors[0].len(), SIZE);
        let is_near = |(one, other): (&f32, &f32)| (one - other).abs() < 1e-4;
        assert!(vectors[0].iter().zip(&first).all(is_near), "{:?}", &vectors[0][..8]);
        assert_ne!(vectors[0], vectors[1], "the order of words counts");
    }

    #[test]
    fn other_files_are_refused() {
        let tokenizer = pieces::tests::model(&[("▁a", -1.0)]);
        let error = MultilingualVectors::load("test", b"PK", &tokenizer).unwrap_err();
        assert!(error.to_string().contains("not an archive"), "{error}");
        let empty = archive(&[]);
        let error = MultilingualVectors::load("test", &empty, &tokenizer).unwrap_err();
        assert!(error.to_string().contains("q1"), "{error}");
    }
}
