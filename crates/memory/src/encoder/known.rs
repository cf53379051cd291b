//! Model files that were tested, by the SHA-256 of their content.

/// A file of an encoder that was tested.
pub(super) struct KnownFile {
    pub(super) sha256: &'static str,
    /// The short name of the encoder.
    pub(super) encoder: &'static str,
    /// The name that the file gets.
    pub(super) file: &'static str,
}

const KNOWN: [KnownFile; 6] = [
    KnownFile {
        sha256: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        encoder: "minilm",
        file: "all-MiniLM-L6-v2.onnx",
    },
    KnownFile {
        sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        encoder: "minilm",
        file: "tokenizer.json",
    },
    KnownFile {
        sha256: "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        encoder: "use-multilingual",
        file: "use-multilingual-v3.npz",
    },
    KnownFile {
        sha256: "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
        encoder: "use-multilingual",
        file: "sp.model",
    },
    KnownFile {
        sha256: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
        encoder: "wordllama",
        file: "wordllama.safetensors",
    },
    KnownFile {
        sha256: "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
        encoder: "wordllama",
        file: "tokenizer.json",
    },
];

pub(super) fn known(sha256: &str) -> Option<&'static KnownFile> {
    KNOWN.iter().find(|file| file.sha256 == sha256)
}
